// What turns a word into ids: WordPiece, BPE or Unigram.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/json.h"
#include "runtime/model/tokenizer/vocabulary.h"

namespace saccade {
inline namespace v0 {

// Memory that a call borrows, so that words allocate nothing.
struct ModelScratch {
  struct Symbol {  // BPE: a list of what a word consists of
    int32_t id, previous, next;
    bool merged;  // into the one before it
  };
  struct Merge {  // BPE: a candidate
    int32_t rank, at, id;
  };
  struct Node {  // Unigram: the best way to reach a byte
    double score;
    size_t from;
    int32_t id;
  };
  struct CachedWord {  // BPE: ids of a short word
    static constexpr size_t kBytes = 22;
    uint8_t size = 0, count = 0;
    std::array<char, kBytes> bytes;
    std::array<int32_t, 10> ids;
  };
  std::vector<Symbol> symbols;
  std::vector<Merge> merges;
  std::vector<Node> nodes;
  std::vector<CachedWord> cache;
  std::string piece;
};

class TokenModel {
 public:
  explicit TokenModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  virtual ~TokenModel() = default;

  // Appends the ids of a word that is not empty.
  virtual void encode(std::string_view word, ModelScratch& scratch, std::vector<int32_t>& ids) const = 0;
  virtual const std::string& name() const = 0;
  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  Vocabulary vocabulary_;
};

struct WordPieceOptions {
  std::string unk_token = "[UNK]";
  std::string continuing_subword_prefix = "##";
  int64_t max_input_chars_per_word = 100;
};
std::unique_ptr<TokenModel> make_wordpiece(Vocabulary vocabulary, const WordPieceOptions& options, const std::string& where);

struct BpeOptions {
  std::string unk_token = {};  // empty: characters that are not in the vocabulary are left out
  std::string continuing_subword_prefix = {};
  std::string end_of_word_suffix = {};
  bool fuse_unk = false;
  bool byte_fallback = false;
  bool ignore_merges = false;
};
using MergePair = std::pair<std::string_view, std::string_view>;
std::unique_ptr<TokenModel> make_bpe(Vocabulary vocabulary, const std::vector<MergePair>& merges, const BpeOptions& options,
                                     const std::string& where);

// scores[id]; unk_id: Trie::kNone for none.
std::unique_ptr<TokenModel> make_unigram(Vocabulary vocabulary, std::vector<double> scores, int32_t unk_id, bool byte_fallback,
                                         const std::string& where);

// From the value of "model". `unsupported` names a type or option that is not known.
std::unique_ptr<TokenModel> read_token_model(const Json& json);

}  // namespace v0
}  // namespace saccade
