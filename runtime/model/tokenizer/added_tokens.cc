#include "runtime/model/tokenizer/added_tokens.h"

#include <algorithm>

#include "runtime/graph/check.h"
#include "runtime/model/tokenizer/unicode.h"
#include "runtime/model/tokenizer/utf8.h"

namespace saccade {
inline namespace v0 {

TokenFinder::TokenFinder(const std::vector<AddedToken>& tokens, const std::vector<std::string>& keys) {
  std::vector<Trie::Entry> entries;
  for (size_t i = tokens.size(); i-- > 0;) {  // the last entry of a key counts in the trie
    entries.emplace_back(keys[i], static_cast<int32_t>(i));
    first_[static_cast<unsigned char>(keys[i].front())] = true;
  }
  trie_ = Trie(std::move(entries));
  for (const AddedToken& token : tokens) rules_.push_back({token.id, token.single_word, token.lstrip, token.rstrip});
}

void TokenFinder::cut(std::string_view text, std::vector<TextPart>& parts) const {
  const CharTable& table = char_table();
  size_t done = 0;  // end of the last part
  if (!rules_.empty()) {
    for (size_t at = 0; at < text.size();) {
      size_t end = at;
      const int32_t found = first_[static_cast<unsigned char>(text[at])] ? trie_.longest(text, at, end) : Trie::kNone;
      if (found == Trie::kNone) {
        ++at;
        continue;
      }
      size_t from = at, to = end;
      at = end;
      const Rule& rule = rules_[static_cast<size_t>(found)];
      if (rule.single_word) {
        size_t before = from, after = to;
        if (from > 0 && table.is(previous_char(text, before), kWord)) continue;
        if (to < text.size() && table.is(next_char(text, after), kWord)) continue;
      }
      if (rule.lstrip) {
        for (size_t blank = from; blank > done && table.is(previous_char(text, blank), kSpace);) from = blank;
        from = std::max(from, done);
      }
      if (rule.rstrip) {
        for (size_t blank = to; blank < text.size() && table.is(next_char(text, blank), kSpace);) to = blank;
      }
      if (done < from) parts.push_back({done, from, TextPart::kText});
      parts.push_back({from, to, rule.id});
      done = to;
    }
  }
  if (done < text.size()) parts.push_back({done, text.size(), TextPart::kText});
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Vocabulary& vocabulary, const Normalizer* normalizer,
                         const std::string& where)
    : tokens_(std::move(tokens)) {
  std::vector<Trie::Entry> entries;
  for (size_t i = tokens_.size(); i-- > 0;) entries.emplace_back(tokens_[i].content, static_cast<int32_t>(i));
  by_content_ = Trie(std::move(entries));  // the first of equal ones
  int32_t next = vocabulary.entries();
  for (size_t i = 0; i < tokens_.size(); ++i) {
    AddedToken& token = tokens_[i];
    const auto first = static_cast<size_t>(by_content_.find(token.content));
    const int32_t written = token.id;
    const int32_t known = first < i ? tokens_[first].id : vocabulary.id(token.content);
    token.id = known == Trie::kNone ? next : known;
    next = std::max(next, token.id + 1);
    if (written >= 0 && written != token.id) {
      fail(Code::kCorruptData, where, ": the token \"", token.content.substr(0, 100), "\" has the id ", written, ", expected ",
           token.id);
    }
    by_id_.emplace_back(token.id, i);
  }
  std::sort(by_id_.begin(), by_id_.end());
  // Special tokens are looked for first, which matters when two have the same normal form.
  std::vector<AddedToken> given, normal;
  std::vector<std::string> given_keys, normal_keys;
  NormalizedText text;
  for (const bool special : {true, false}) {
    for (const AddedToken& token : tokens_) {
      if (token.special != special) continue;
      if (!token.normalized) {
        given.push_back(token);
        given_keys.push_back(token.content);
        continue;
      }
      text.assign(token.content, true);
      if (normalizer != nullptr) normalizer->apply(text);
      if (text.text.empty())
        fail(Code::kUnsupported, where, ": the token \"", token.content.substr(0, 100), "\" is empty when normalised");
      normal.push_back(token);
      normal_keys.push_back(text.text);
    }
  }
  as_given_ = TokenFinder(given, given_keys);
  normalized_ = TokenFinder(normal, normal_keys);
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const int32_t place = by_content_.find(content);
  return place == Trie::kNone ? nullptr : &tokens_[static_cast<size_t>(place)];
}
const AddedToken* AddedTokens::find(int32_t id) const {
  const auto place = std::lower_bound(by_id_.begin(), by_id_.end(), std::pair(id, size_t{0}));
  return place == by_id_.end() || place->first != id ? nullptr : &tokens_[place->second];
}

std::vector<AddedToken> read_added_tokens(const Json& json) {
  std::vector<AddedToken> tokens;
  if (!json) return tokens;
  for (const Json& element : json.elements()) {
    AddedToken token;
    token.content = element.at("content").string();
    token.id = static_cast<int32_t>(element.at("id").integer(0, INT32_MAX));
    token.special = element.boolean_or("special", false);
    token.normalized = element.boolean_or("normalized", !token.special);
    token.single_word = element.boolean_or("single_word", false);
    token.lstrip = element.boolean_or("lstrip", false);
    token.rstrip = element.boolean_or("rstrip", false);
    if (token.content.empty()) continue;  // matches nothing
    if (!well_formed(token.content)) fail(Code::kCorruptData, element.where(), ": content: expected UTF-8");
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace v0
}  // namespace saccade
