// Text to token ids, as the published `tokenizers` library does it for the same files. Part of saccade::model.
//
// What is done is decided by the files of the directory alone: tokenizer.json if it is there, else vocab.txt (WordPiece),
// vocab.json + merges.txt (byte-level BPE) or sentencepiece.bpe.model (Unigram) with tokenizer_config.json. A component, option
// or regular expression that is not known is refused when loading, never approximated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "saccade/export.h"
#include "saccade/status.h"

namespace saccade {
inline namespace v0 {

// The tokens of one text or of a pair, special tokens included. Reusing one keeps its capacity.
struct Tokens {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;  // 0 for the first text, 1 for the second where the files say so
  std::vector<uint8_t> special;   // 1 where the post-processor added a token (<s>, [CLS], [SEP], ...)
};

struct TokenizeOptions {
  bool special_tokens = true;  // add those of the post-processor
  int64_t max_length = 0;      // most tokens, special ones included; 0: no limit. Longer input is out_of_range, unless
  bool truncate = false;       // cut from the right so that the special tokens fit, the longest text of a pair first
};

class SACCADE_EXPORT Tokenizer {
 public:
  Tokenizer() = default;  // none: like one that was moved from, it refuses texts and knows no token

  // `directory` holds one of the sets of files above. Files are not trusted: a Status names file, key and value.
  static Result<Tokenizer> load(const std::string& directory);

  // Any bytes are text; invalid UTF-8 is read as U+FFFD, once per maximal part as Unicode recommends. Callable from any number of
  // threads.
  Status encode(std::string_view text, const TokenizeOptions& options, Tokens& tokens) const;
  Status encode_pair(std::string_view first, std::string_view second, const TokenizeOptions& options, Tokens& tokens) const;

  int64_t vocabulary_size() const;  // largest id + 1, added tokens included
  std::optional<int32_t> id(std::string_view token) const;
  std::string_view token(int32_t id) const;      // as stored: "##ing", "\u2581the"; empty for an id out of range
  int64_t special_token_count(bool pair) const;  // that the post-processor adds
  const std::string& model() const;              // "WordPiece", "BPE" or "Unigram"
  const std::string& source() const;             // name of the file that decided: "tokenizer.json", "vocab.txt", ...

  struct Data;

 private:
  explicit Tokenizer(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

}  // namespace v0
}  // namespace saccade
