// Unigram: the pieces whose scores (log probabilities) have the largest sum, found by Viterbi from the left in double precision;
// of equal sums the one found first. A character that no piece covers costs the lowest score minus 10; unknown neighbours are one
// token.
#include <algorithm>
#include <limits>

#include "runtime/graph/check.h"
#include "runtime/model/tokenizer/token_model.h"
#include "runtime/model/tokenizer/utf8.h"

namespace saccade {
inline namespace v0 {
namespace {

class Unigram : public TokenModel {
 public:
  Unigram(Vocabulary vocabulary, std::vector<double> scores, int32_t unk_id, bool byte_fallback, const std::string& where)
      : TokenModel(std::move(vocabulary)),
        scores_(std::move(scores)),
        where_(where),
        unknown_(unk_id),
        byte_fallback_(byte_fallback) {
    constexpr double kPenalty = 10;
    double lowest = std::numeric_limits<double>::infinity();
    for (const double score : scores_) lowest = std::min(lowest, score);
    unknown_score_ = lowest - kPenalty;
    byte_ids_ = vocabulary_.byte_ids();
  }

  const std::string& name() const override { return name_; }

  void encode(std::string_view word, ModelScratch& scratch, std::vector<int32_t>& ids) const override {
    find_path(word, scratch.nodes);
    const size_t start = ids.size();
    for (size_t to = word.size(); to > 0;) {  // from the right; turned round in the end
      const auto& node = scratch.nodes[to];
      size_t from = node.from;
      if (node.id == unknown_) {
        while (from > 0 && scratch.nodes[from].id == unknown_) from = scratch.nodes[from].from;
        add_unknown(word.substr(from, to - from), ids);
      } else {
        ids.push_back(node.id);
      }
      to = from;
    }
    std::reverse(ids.begin() + static_cast<ptrdiff_t>(start), ids.end());
  }

 private:
  static constexpr size_t kUnreached = SIZE_MAX;

  // nodes[i]: the best path to the byte i.
  void find_path(std::string_view word, std::vector<ModelScratch::Node>& nodes) const {
    const Trie& trie = vocabulary_.trie();
    nodes.assign(word.size() + 1, {0, kUnreached, 0});
    for (size_t from = 0; from < word.size();) {
      const double before = nodes[from].score;
      const size_t next = from + utf8_size(word[from]);
      const auto offer = [&](size_t to, double score, int32_t id) {
        if (nodes[to].from == kUnreached || score > nodes[to].score) nodes[to] = {score, from, id};
      };
      bool single = false;
      uint32_t node = Trie::kRoot;
      for (size_t at = from; at < word.size() && trie.step(node, word[at]);) {
        ++at;
        const int32_t id = trie.value(node);
        if (id == Trie::kNone) continue;
        offer(at, scores_[static_cast<size_t>(id)] + before, id);
        single = single || at == next;
      }
      if (!single) {
        if (unknown_ == Trie::kNone) {
          fail(Code::kCorruptData, where_, ": a character is not in the vocabulary, and there is no unk_id");
        }
        offer(next, unknown_score_ + before, unknown_);
      }
      from = next;
    }
  }

  // Ids of an unknown stretch, last one first.
  void add_unknown(std::string_view text, std::vector<int32_t>& ids) const {
    const auto id_of = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
    if (const int32_t id = vocabulary_.id(text); id != Trie::kNone) {
      ids.push_back(id);
    } else if (byte_fallback_ && std::all_of(text.begin(), text.end(), [&](char byte) { return id_of(byte) != Trie::kNone; })) {
      for (auto byte = text.rbegin(); byte != text.rend(); ++byte) ids.push_back(id_of(*byte));
    } else {
      ids.push_back(unknown_);
    }
  }

  std::string name_ = "Unigram";
  std::vector<double> scores_;
  std::string where_;
  int32_t unknown_;
  bool byte_fallback_;
  double unknown_score_;
  std::array<int32_t, 256> byte_ids_;
};

}  // namespace

std::unique_ptr<TokenModel> make_unigram(Vocabulary vocabulary, std::vector<double> scores, int32_t unk_id, bool byte_fallback,
                                         const std::string& where) {
  return std::make_unique<Unigram>(std::move(vocabulary), std::move(scores), unk_id, byte_fallback, where);
}

}  // namespace v0
}  // namespace saccade
