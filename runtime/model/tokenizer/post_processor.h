// Where special tokens go, which type ids tokens get, and how too long input is cut.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/model/json.h"
#include "saccade/tokenizer.h"

namespace saccade {
inline namespace v0 {

class PostProcessor {
 public:
  // One entry of a template: a text, or special tokens.
  struct Part {
    enum class Kind : uint8_t { kFirst, kSecond, kSpecial };
    Kind kind;
    int32_t type_id;
    std::vector<int32_t> ids = {};  // of special tokens
  };
  using Template = std::vector<Part>;

  PostProcessor();  // the texts alone, the second of type 1
  PostProcessor(Template single, Template pair) : single_(std::move(single)), pair_(std::move(pair)) {}
  static PostProcessor bert(int32_t cls, int32_t sep);     // [CLS] A [SEP] and B [SEP] of type 1
  static PostProcessor roberta(int32_t cls, int32_t sep);  // <s> A </s> </s> B </s>, all of type 0

  int64_t special_count(bool pair) const;

  // Puts the tokens of the texts together; `second` is null for a single text. Longer results than options.max_length are
  // out_of_range, or cut: one text from the right; of two, the longer one first until they are equal, then both.
  void assemble(const std::vector<int32_t>& first, const std::vector<int32_t>* second, const TokenizeOptions& options,
                Tokens& tokens) const;

 private:
  Template single_, pair_;
};

// From the value of "post_processor". `unsupported` names a type that is not known.
PostProcessor read_post_processor(const Json& json);

}  // namespace v0
}  // namespace saccade
