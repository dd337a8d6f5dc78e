#include "tools/vector_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "tools/console.h"

namespace saccade::tool {
namespace {

constexpr size_t kHeader = 128;  // a multiple of 64 that holds any shape, so that the count can be written afterwards

std::string npy_header(int64_t rows, int64_t width) {
  constexpr size_t kPrefix = 10;  // magic, version 1.0, length of the rest
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(kHeader - kPrefix);
  header += '\0';
  header += fmt::format("{{'descr': '{}f4', 'fortran_order': False, 'shape': ({}, {}), }}",
                        std::endian::native == std::endian::little ? '<' : '>', rows, width);
  header.resize(kHeader - 1, ' ');
  return header + '\n';
}

// As short as reads back the same.
void append_number(std::string& to, float x) {
  char digits[32];
  to.append(digits, std::to_chars(digits, digits + sizeof digits, x).ptr);
}

Failure io_failure(const std::string& file) { return {kFailure, fmt::format("{}: {}", printable(file), std::strerror(errno))}; }

}  // namespace

VectorWriter::VectorWriter(const std::string& file, VectorFormat format, int64_t width)
    : file_(file), part_(file.empty() ? "" : file + ".part"), format_(format), width_(width) {
  if (!file_.empty()) {
    if (std::filesystem::is_directory(file_)) throw Failure(kFailure, printable(file_) + ": is a directory");
    stream_ = std::fopen(part_.c_str(), "wb");
  } else {
    stream_ = format_ == VectorFormat::kNpy ? std::tmpfile() : stdout;
  }
  if (stream_ == nullptr) throw io_failure(file_.empty() ? "temporary file" : part_);
  if (format_ == VectorFormat::kNpy) write_header();
}

VectorWriter::~VectorWriter() {
  if (stream_ == nullptr || stream_ == stdout) return;
  try {
    if (count_ > 0) complete();
  } catch (const Failure& failure) {
    fmt::print(stderr, "saccade: {}\n", failure.what());
  }
  if (stream_ != nullptr && stream_ != stdout) std::fclose(stream_);
  if (!part_.empty() && count_ == 0) std::remove(part_.c_str());
}

void VectorWriter::write(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, stream_) != bytes) throw io_failure(file_.empty() ? "standard output" : part_);
}

void VectorWriter::write_header() {
  const std::string header = npy_header(count_, width_);
  if (std::fseek(stream_, 0, SEEK_SET) != 0) throw io_failure(part_);
  write(header.data(), header.size());
}

void VectorWriter::add(std::span<const float> vectors) {
  const auto width = static_cast<size_t>(width_);
  if (format_ == VectorFormat::kNpy) {
    write(vectors.data(), vectors.size_bytes());
    count_ += static_cast<int64_t>(vectors.size() / width);
  }
  for (size_t at = 0; format_ != VectorFormat::kNpy && at < vectors.size(); at += width) {
    const bool json = format_ == VectorFormat::kJsonl;
    line_ = json ? fmt::format("{{\"index\":{},\"vector\":[", count_) : "";
    for (size_t i = 0; i < width; ++i) {
      if (i > 0) line_ += ',';
      const float x = vectors[at + i];
      if (json && !std::isfinite(x)) {
        line_ += "null";  // JSON has no such numbers
      } else {
        append_number(line_, x);
      }
    }
    line_ += json ? "]}\n" : "\n";
    write(line_.data(), line_.size());
    ++count_;
  }
  if (std::fflush(stream_) != 0) throw io_failure(file_.empty() ? "standard output" : part_);
}

// Once complete, stream_ is null, but for standard output.
void VectorWriter::complete() {
  if (format_ == VectorFormat::kNpy) write_header();
  if (stream_ == stdout) return;
  if (file_.empty()) {  // from the temporary file to standard output
    std::FILE* from = std::exchange(stream_, stdout);
    std::string block(size_t{1} << 20, '\0');
    std::rewind(from);
    for (size_t got = 0; (got = std::fread(block.data(), 1, block.size(), from)) > 0;) write(block.data(), got);
    std::fclose(from);
    return;
  }
  if (std::fclose(std::exchange(stream_, nullptr)) != 0) throw io_failure(part_);
}

void VectorWriter::finish() {
  complete();
  if (!file_.empty() && std::rename(part_.c_str(), file_.c_str()) != 0) throw io_failure(file_);
}

std::string VectorWriter::left_behind() const {
  if (part_.empty() || count_ == 0) return "";
  return fmt::format("{} holds {} texts", printable(part_), count_);
}

}  // namespace saccade::tool
