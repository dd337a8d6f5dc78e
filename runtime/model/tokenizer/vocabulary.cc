#include "runtime/model/tokenizer/vocabulary.h"

#include <algorithm>

#include "runtime/graph/check.h"
#include "runtime/model/tokenizer/utf8.h"

namespace saccade {
inline namespace v0 {

Vocabulary::Vocabulary(const std::vector<std::pair<std::string_view, int64_t>>& entries, const std::string& where) {
  // Published vocabularies have a few gaps at most; the bound keeps one wrong id from asking for gigabytes.
  const int64_t bound = 2 * static_cast<int64_t>(entries.size()) + 65536;
  int64_t largest = -1;
  size_t bytes = 0;
  for (const auto& [token, id] : entries) {
    if (!well_formed(token)) fail(Code::kCorruptData, where, ": the token of id ", id, " is not UTF-8");
    if (id < 0 || id >= bound) {
      fail(Code::kCorruptData, where, ": the id ", id, " of \"", token.substr(0, 100), "\" is not between 0 and ", bound - 1);
    }
    largest = std::max(largest, id);
    bytes += token.size();
  }
  text_.reserve(bytes);
  tokens_.resize(static_cast<size_t>(largest + 1));
  std::vector<Trie::Entry> keys;
  keys.reserve(entries.size());
  for (const auto& [token, id] : entries) {
    tokens_[static_cast<size_t>(id)] = {text_.size(), token.size()};
    text_.insert(text_.end(), token.begin(), token.end());
    keys.emplace_back(token, static_cast<int32_t>(id));
    if (token.empty()) empty_ = static_cast<int32_t>(id);
  }
  trie_ = Trie(std::move(keys));
}

std::string_view Vocabulary::token(int32_t id) const {
  if (id < 0 || id >= size()) return {};
  const auto [from, length] = tokens_[static_cast<size_t>(id)];
  return {text_.data() + from, length};
}

std::array<int32_t, 256> Vocabulary::byte_ids() const {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::array<int32_t, 256> ids;
  for (size_t byte = 0; byte < ids.size(); ++byte) {
    const char token[] = {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
    ids[byte] = id({token, sizeof(token)});
  }
  return ids;
}

}  // namespace v0
}  // namespace saccade
