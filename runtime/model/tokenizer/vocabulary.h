// Tokens and their ids.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/model/tokenizer/trie.h"

namespace saccade {
inline namespace v0 {

class Vocabulary {
 public:
  // The views need to live for the call only. Of two entries of one token the last one counts. Ids may have gaps; one far beyond
  // the number of entries is corrupt_data. `where` names the vocabulary in messages.
  Vocabulary(const std::vector<std::pair<std::string_view, int64_t>>& entries, const std::string& where);
  Vocabulary(Vocabulary&&) noexcept = default;  // the text does not move with it: it lies on the heap
  Vocabulary& operator=(Vocabulary&&) noexcept = default;

  int32_t size() const { return static_cast<int32_t>(tokens_.size()); }                             // largest id + 1
  int32_t entries() const { return static_cast<int32_t>(trie_.size()) + (empty_ != Trie::kNone); }  // different tokens
  int32_t id(std::string_view token) const { return token.empty() ? empty_ : trie_.find(token); }   // Trie::kNone: none
  std::string_view token(int32_t id) const;                                                         // empty when there is none
  const Trie& trie() const { return trie_; }                                                        // token -> id
  std::array<int32_t, 256> byte_ids() const;  // of "<0x00>" to "<0xFF>", which stand for bytes (byte_fallback)

 private:
  std::vector<char> text_;
  std::vector<std::pair<size_t, size_t>> tokens_;  // place and length in text_, by id
  Trie trie_;
  int32_t empty_ = Trie::kNone;  // id of the token ""
};

}  // namespace v0
}  // namespace saccade
