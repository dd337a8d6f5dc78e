// The fields of a sentencepiece model (a protocol buffer, sentencepiece_model.proto) that a Unigram tokenizer needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace saccade {
inline namespace v0 {

struct SentencePieceModel {
  struct Piece {
    std::string_view text;
    float score = 0;
  };
  std::vector<Piece> pieces;
  std::string_view charsmap;  // of the normalizer; empty: none
  int64_t model_type = 1;     // 1 Unigram, 2 BPE, 3 word, 4 char
  bool byte_fallback = false;
  bool whitespace_as_suffix = false;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
};

// The result points into `bytes`. corrupt_data names `file`, the field and what is wrong with it.
SentencePieceModel parse_sentencepiece(std::string_view bytes, const std::string& file);

}  // namespace v0
}  // namespace saccade
