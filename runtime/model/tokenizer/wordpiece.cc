// WordPiece: from the left, the longest piece of the vocabulary; pieces inside a word begin with a prefix. A word that cannot be
// covered, or is too long, is one unknown token.
#include "runtime/graph/check.h"
#include "runtime/model/tokenizer/token_model.h"
#include "runtime/model/tokenizer/utf8.h"

namespace saccade {
inline namespace v0 {
namespace {

class WordPiece : public TokenModel {
 public:
  WordPiece(Vocabulary vocabulary, const WordPieceOptions& options, const std::string& where)
      : TokenModel(std::move(vocabulary)), most_(static_cast<size_t>(options.max_input_chars_per_word)) {
    unknown_ = vocabulary_.id(options.unk_token);
    if (unknown_ == Trie::kNone) {
      fail(Code::kCorruptData, where, ": the unknown token \"", options.unk_token, "\" is not in the vocabulary");
    }
    inside_ = Trie::kRoot;
    for (const char byte : options.continuing_subword_prefix) has_inside_ = has_inside_ && vocabulary_.trie().step(inside_, byte);
  }

  void encode(std::string_view word, ModelScratch&, std::vector<int32_t>& ids) const override {
    const Trie& trie = vocabulary_.trie();
    const size_t start = ids.size();
    bool known = word.size() <= most_ || count_chars(word) <= most_;
    uint32_t node = Trie::kRoot;
    for (size_t from = 0; known && from < word.size();) {
      int32_t best = Trie::kNone;
      size_t end = from;
      for (size_t at = from; at < word.size() && trie.step(node, word[at]);) {
        ++at;
        if (trie.value(node) == Trie::kNone) continue;
        best = trie.value(node);
        end = at;
      }
      known = best != Trie::kNone && (end == word.size() || has_inside_);
      ids.push_back(best);
      from = end;
      node = inside_;
    }
    if (!known) {
      ids.resize(start);
      ids.push_back(unknown_);
    }
  }

  const std::string& name() const override { return name_; }

 private:
  std::string name_ = "WordPiece";
  size_t most_;
  int32_t unknown_;
  uint32_t inside_;         // node behind the prefix
  bool has_inside_ = true;  // whether any piece has the prefix
};

}  // namespace

std::unique_ptr<TokenModel> make_wordpiece(Vocabulary vocabulary, const WordPieceOptions& options, const std::string& where) {
  return std::make_unique<WordPiece>(std::move(vocabulary), options, where);
}

}  // namespace v0
}  // namespace saccade
