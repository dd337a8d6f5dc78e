// Vectors as a NumPy file, JSON lines or CSV, to a file or standard output, one after the other in bounded memory.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

namespace saccade::tool {

enum class VectorFormat { kNpy, kJsonl, kCsv };

std::string part_of(const std::string& file);  // FILE.part; of what a link leads to, if FILE is one

// A file is written as FILE.part and gets its name in finish(). Without finish() FILE.part stays behind with every record that
// was added, whole, and an npy header that counts them; without any record it is removed. A second process that writes the same
// file fails at once. What is no regular file (a device, a pipe) is written as it is, like standard output; a link stays one.
class VectorWriter {
 public:
  VectorWriter(const std::string& file, VectorFormat format, int64_t width);  // an empty name: standard output
  ~VectorWriter();
  VectorWriter(const VectorWriter&) = delete;
  VectorWriter& operator=(const VectorWriter&) = delete;

  void add(std::span<const float> vectors);  // some records
  void finish();
  // What is left behind without finish(): "FILE.part holds 12 texts"; empty for standard output.
  std::string left_behind() const;

 private:
  void write_header();
  void write(const void* data, size_t bytes);
  void complete();  // all records and the right header are in the sink
  void close();
  const std::string& name() const;

  std::string file_, part_;  // no part_: not a regular file
  VectorFormat format_;
  int64_t width_, count_ = 0;
  std::FILE* sink_ = nullptr;    // FILE.part, standard output or another file that is not regular
  std::FILE* stream_ = nullptr;  // the same, or for npy without FILE.part a temporary file: its header comes first
  std::string line_;
};

}  // namespace saccade::tool
