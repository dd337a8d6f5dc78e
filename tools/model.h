// What the subcommands for a published model share: loading it, reading texts, and how texts are encoded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "saccade/encoder.h"
#include "tools/command.h"
#include "tools/machine_report.h"

namespace saccade::tool {

// Fail with exit code 4 when the directory cannot be used.
Encoder load_encoder(const ModelOptions& options, const Setup& setup);
Tokenizer load_tokenizer(const ModelOptions& options);

EncodeOptions encode_options(const EncodeTextOptions& options);

// Texts of a file or of standard input, one after the other, in bounded memory.
class TextReader {
 public:
  explicit TextReader(const TextOptions& options);
  ~TextReader();
  TextReader(const TextReader&) = delete;
  TextReader& operator=(const TextReader&) = delete;

  // The next text, without the end of its line. False at the end; Interrupted when SIGINT comes while it waits.
  bool next(std::string& text);
  // Those that are left, at most so many; a failure when there are none.
  std::vector<std::string> all(size_t most = SIZE_MAX);
  bool reads(const std::string& path) const;  // whether that is the file it reads, by whatever name

  int64_t lines() const { return lines_; }  // read so far
  int64_t bytes() const { return bytes_; }  // of those lines
  int64_t size() const { return size_; }    // of the file; 0: not known
  const std::string& name() const { return name_; }

 private:
  bool next_line(std::string& line);
  bool fill();
  std::string field_of(const std::string& line) const;

  std::string name_, field_;
  int descriptor_ = -1;
  int64_t lines_ = 0, bytes_ = 0, size_ = 0;
  std::string buffer_;
  size_t at_ = 0;  // first byte of the buffer that is not used yet
};

// After the encoder refused one of `count` texts, the first of which is on line `first_line` + 1: a failure that names the line
// of the first text that is refused `alone`. Returns when there is none.
void fail_at_line(const TextReader& reader, int64_t first_line, size_t count, const std::function<Status(size_t)>& alone);
// What the encoder says of a text that it got alone, without the text's number.
std::string about_one_text(const Status& status);

const char* pooling_name(Pooling pooling);
const char* head_name(Head head);

}  // namespace saccade::tool
