// Tokens that are looked for in the text before anything else: special ones ([SEP], <mask>) and others that were added.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/model/json.h"
#include "runtime/model/tokenizer/normalizers.h"
#include "runtime/model/tokenizer/vocabulary.h"

namespace saccade {
inline namespace v0 {

struct AddedToken {
  std::string content;
  int32_t id = -1;  // -1 until it is known
  bool special = false;
  bool normalized = false;   // looked for in the normalised text, by its own normal form; else in the text as given
  bool single_word = false;  // not beside a character of a word
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space after it
};

// A part of a text: a token, or text between tokens.
struct TextPart {
  size_t from, to;
  int32_t id;  // kText: none
  static constexpr int32_t kText = -1;
};

// Finds a set of tokens: of those that begin first, the longest; then on from its end.
class TokenFinder {
 public:
  TokenFinder() = default;
  // `keys`: what is looked for, one per token, none empty. Of equal keys the first token counts. Neither is kept.
  TokenFinder(const std::vector<AddedToken>& tokens, const std::vector<std::string>& keys);

  // Appends the parts of the text, in order, that cover it (white space that a token takes belongs to the token).
  void cut(std::string_view text, std::vector<TextPart>& parts) const;

 private:
  struct Rule {
    int32_t id;
    bool single_word, lstrip, rstrip;
  };
  Trie trie_;  // key -> index of rule
  std::vector<Rule> rules_;
  std::array<bool, 256> first_{};  // whether a key begins with the byte
};

class AddedTokens {
 public:
  AddedTokens() = default;
  // Ids are those of the vocabulary, else the next free ones in order. `where` names the list in messages.
  AddedTokens(std::vector<AddedToken> tokens, const Vocabulary& vocabulary, const Normalizer* normalizer,
              const std::string& where);

  int32_t size() const { return by_id_.empty() ? 0 : by_id_.back().first + 1; }  // largest id + 1
  const AddedToken* find(std::string_view content) const;
  const AddedToken* find(int32_t id) const;
  const TokenFinder& as_given() const { return as_given_; }
  const TokenFinder& normalized() const { return normalized_; }

 private:
  std::vector<AddedToken> tokens_;
  Trie by_content_;                                // content -> place in tokens_
  std::vector<std::pair<int32_t, size_t>> by_id_;  // id, place in tokens_; ascending
  TokenFinder as_given_, normalized_;
};

// The value of "added_tokens".
std::vector<AddedToken> read_added_tokens(const Json& json);

}  // namespace v0
}  // namespace saccade
