#include "tools/vector_writer.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

// FILE.part, empty and ours alone until it is closed.
std::FILE* open_part(const std::string& part) {
  while (true) {
    const int descriptor = open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0 && errno == ELOOP)
      throw Failure(kFailure, printable(part) + ": is a link; what it leads to is not overwritten");
    if (descriptor < 0) throw io_failure(part);
    struct stat opened, named;
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      close(descriptor);
      throw Failure(kFailure, printable(part) + ": another process is writing this file");
    }
    // Another process may have finished it, and given it its name, between the two calls.
    const bool same = fstat(descriptor, &opened) == 0 && stat(part.c_str(), &named) == 0 && opened.st_ino == named.st_ino;
    if (same && ftruncate(descriptor, 0) == 0) return fdopen(descriptor, "w+b");
    close(descriptor);
    if (same) throw io_failure(part);
  }
}

// What a link leads to, so that the link stays one.
std::string without_links(const std::string& file) {
  std::error_code failed;
  const std::filesystem::path path = std::filesystem::canonical(file, failed);
  return failed ? file : path.string();
}

}  // namespace

std::string part_of(const std::string& file) { return without_links(file) + ".part"; }

VectorWriter::VectorWriter(const std::string& file, VectorFormat format, int64_t width)
    : file_(file), format_(format), width_(width) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(file_, ignored);
  if (std::filesystem::is_directory(status)) throw Failure(kFailure, printable(file_) + ": is a directory");
  if (file_.empty()) {
    sink_ = stdout;
  } else if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    sink_ = std::fopen(file_.c_str(), "wb");
  } else {
    file_ = without_links(file_);
    part_ = part_of(file_);
    sink_ = open_part(part_);
  }
  if (sink_ == nullptr) throw io_failure(file_);
  stream_ = format_ == VectorFormat::kNpy && part_.empty() ? std::tmpfile() : sink_;
  if (stream_ == nullptr) throw io_failure("temporary file");
  if (format_ == VectorFormat::kNpy) write_header();
}

VectorWriter::~VectorWriter() {
  try {
    if (count_ > 0) complete();
  } catch (const Failure& failure) {
    fmt::print(stderr, "saccade: {}\n", failure.what());
  }
  if (!part_.empty() && count_ == 0 && sink_ != nullptr) std::remove(part_.c_str());
  close();
}

void VectorWriter::close() {
  if (stream_ != nullptr && stream_ != sink_) std::fclose(stream_);
  if (sink_ != nullptr && sink_ != stdout) std::fclose(sink_);
  stream_ = sink_ = nullptr;
}

const std::string& VectorWriter::name() const {
  static const std::string standard = "standard output";
  return !part_.empty() ? part_ : file_.empty() ? standard : file_;
}

void VectorWriter::write(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, stream_) != bytes) throw io_failure(name());
}

void VectorWriter::write_header() {
  const std::string header = npy_header(count_, width_);
  if (std::fseek(stream_, 0, SEEK_SET) != 0) throw io_failure(name());
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
  if (std::fflush(stream_) != 0) throw io_failure(name());
}

void VectorWriter::complete() {
  if (stream_ == nullptr) return;
  if (format_ == VectorFormat::kNpy) write_header();
  if (stream_ != sink_) {
    std::FILE* from = std::exchange(stream_, sink_);
    std::string block(size_t{1} << 20, '\0');
    std::rewind(from);
    for (size_t got = 0; (got = std::fread(block.data(), 1, block.size(), from)) > 0;) write(block.data(), got);
    std::fclose(from);
  }
  if (std::fflush(sink_) != 0) throw io_failure(name());
}

void VectorWriter::finish() {
  complete();
  // Named while it is still locked: nobody else may open it in between.
  if (!part_.empty() && std::rename(part_.c_str(), file_.c_str()) != 0) throw io_failure(file_);
  close();
}

std::string VectorWriter::left_behind() const {
  if (part_.empty() || count_ == 0) return "";
  return fmt::format("{} holds {} texts", printable(part_), count_);
}

}  // namespace saccade::tool
