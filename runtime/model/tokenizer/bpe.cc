// Byte pair encoding: a word starts as its characters; the pair of neighbours with the lowest rank is merged, the leftmost of
// equals first, until no pair has one.
#include <algorithm>
#include <cstring>

#include "runtime/graph/check.h"
#include "runtime/model/tokenizer/token_model.h"
#include "runtime/model/tokenizer/utf8.h"

namespace saccade {
inline namespace v0 {
namespace {

// (left id, right id) -> rank and merged id. Open addressing, at most half full.
class MergeTable {
 public:
  struct Merged {
    int32_t rank = -1, id = -1;
  };
  explicit MergeTable(size_t merges) {
    size_t size = 16;
    while (size < 2 * merges) size *= 2;
    slots_.resize(size);
  }
  void set(int32_t left, int32_t right, Merged merged) {
    Slot& slot = slots_[place(key(left, right))];
    slot.key = key(left, right);
    slot.merged = merged;
  }
  Merged find(int32_t left, int32_t right) const { return slots_[place(key(left, right))].merged; }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;  // ids are not negative
  struct Slot {
    uint64_t key = kFree;
    Merged merged;
  };
  static uint64_t key(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t place(uint64_t wanted) const {
    const size_t mask = slots_.size() - 1;
    size_t at = (wanted * 0x9E3779B97F4A7C15u >> 32) & mask;  // Fibonacci hashing
    while (slots_[at].key != wanted && slots_[at].key != kFree) at = (at + 1) & mask;
    return at;
  }
  std::vector<Slot> slots_;
};

class Bpe : public TokenModel {
 public:
  Bpe(Vocabulary vocabulary, const std::vector<MergePair>& merges, const BpeOptions& options, const std::string& where)
      : TokenModel(std::move(vocabulary)), options_(options), where_(where), merges_(merges.size()) {
    std::string merged;
    const auto id_of = [&](std::string_view token, size_t rank) {
      const int32_t id = vocabulary_.id(token);
      if (id == Trie::kNone) {
        fail(Code::kCorruptData, where, ": merge ", rank, ": \"", token.substr(0, 100), "\" is not in the vocabulary");
      }
      return id;
    };
    const size_t prefix = options.continuing_subword_prefix.size();
    for (size_t rank = 0; rank < merges.size(); ++rank) {
      const auto& [left, right] = merges[rank];
      const int32_t left_id = id_of(left, rank), right_id = id_of(right, rank);
      if (right.size() < prefix) {
        fail(Code::kCorruptData, where, ": merge ", rank, ": \"", right, "\" is shorter than the prefix of subwords");
      }
      merged = left;
      merged += right.substr(prefix);
      merges_.set(left_id, right_id, {static_cast<int32_t>(rank), id_of(merged, rank)});
    }
    if (!options.unk_token.empty()) unknown_ = vocabulary_.id(options.unk_token);
    for (char32_t c = 0; c < kDirect; ++c) {
      std::string token;
      append_char(token, c);
      direct_[c] = vocabulary_.id(token);
    }
    byte_ids_ = vocabulary_.byte_ids();
  }

  const std::string& name() const override { return name_; }

  void encode(std::string_view word, ModelScratch& scratch, std::vector<int32_t>& ids) const override {
    using CachedWord = ModelScratch::CachedWord;
    if (options_.ignore_merges) {
      if (const int32_t id = vocabulary_.id(word); id != Trie::kNone) return ids.push_back(id);
    }
    if (word.size() > CachedWord::kBytes) return merge(word, scratch, ids);
    if (scratch.cache.empty()) scratch.cache.resize(kCachedWords);
    CachedWord& cached = scratch.cache[hash(word) % kCachedWords];
    if (cached.size == word.size() && std::memcmp(cached.bytes.data(), word.data(), word.size()) == 0) {
      ids.insert(ids.end(), cached.ids.begin(), cached.ids.begin() + cached.count);
      return;
    }
    const size_t start = ids.size();
    merge(word, scratch, ids);
    const size_t count = ids.size() - start;
    if (count > cached.ids.size()) return;
    cached.size = static_cast<uint8_t>(word.size());
    cached.count = static_cast<uint8_t>(count);
    word.copy(cached.bytes.data(), word.size());
    std::copy_n(ids.begin() + static_cast<ptrdiff_t>(start), count, cached.ids.begin());
  }

 private:
  using Symbol = ModelScratch::Symbol;
  using Merge = ModelScratch::Merge;
  static constexpr char32_t kDirect = 0x180;    // the characters of ByteLevel are below U+0144
  static constexpr size_t kCachedWords = 4096;  // 64 bytes each: 256 KiB, half of a small L2

  static uint64_t hash(std::string_view word) {
    uint64_t h = word.size();
    for (const char byte : word) h = (h ^ static_cast<unsigned char>(byte)) * 0x9E3779B97F4A7C15u;
    return h >> 40;
  }

  void merge(std::string_view word, ModelScratch& scratch, std::vector<int32_t>& ids) const {
    std::vector<Symbol>& symbols = scratch.symbols;
    split(word, scratch);
    if (symbols.size() > INT32_MAX) fail(Code::kResourceExhausted, where_, ": a word of ", word.size(), " bytes");
    // A heap of what can be merged. Entries grow stale when a neighbour merges; they are recognised when they come up.
    std::vector<Merge>& heap = scratch.merges;
    heap.clear();
    const auto later = [](const Merge& a, const Merge& b) { return a.rank != b.rank ? a.rank > b.rank : a.at > b.at; };
    const auto candidate = [&](int32_t at) {
      const int32_t next = symbols[static_cast<size_t>(at)].next;
      const auto found = merges_.find(symbols[static_cast<size_t>(at)].id, symbols[static_cast<size_t>(next)].id);
      if (found.rank < 0) return false;
      heap.push_back({found.rank, at, found.id});
      return true;
    };
    for (size_t i = 0; i + 1 < symbols.size(); ++i) (void)candidate(static_cast<int32_t>(i));
    std::make_heap(heap.begin(), heap.end(), later);
    while (!heap.empty()) {
      const Merge best = heap.front();
      std::pop_heap(heap.begin(), heap.end(), later);
      heap.pop_back();
      Symbol& left = symbols[static_cast<size_t>(best.at)];
      if (left.merged || left.next < 0) continue;
      Symbol& right = symbols[static_cast<size_t>(left.next)];
      if (merges_.find(left.id, right.id).id != best.id) continue;
      left.id = best.id;
      right.merged = true;
      left.next = right.next;
      if (left.next >= 0) {
        symbols[static_cast<size_t>(left.next)].previous = best.at;
        if (candidate(best.at)) std::push_heap(heap.begin(), heap.end(), later);
      }
      if (left.previous >= 0 && candidate(left.previous)) std::push_heap(heap.begin(), heap.end(), later);
    }
    for (const Symbol& symbol : symbols) {
      if (!symbol.merged) ids.push_back(symbol.id);
    }
  }

  // The ids that the word starts as.
  void split(std::string_view word, ModelScratch& scratch) const {
    std::vector<Symbol>& symbols = scratch.symbols;
    symbols.clear();
    const bool plain = options_.continuing_subword_prefix.empty() && options_.end_of_word_suffix.empty();
    bool unknown = false;  // an unknown token that is still to be added, so that the next one may be fused with it
    const auto add = [&](int32_t id) {
      const auto at = static_cast<int32_t>(symbols.size());
      if (at > 0) symbols.back().next = at;
      symbols.push_back({id, at - 1, -1, false});
    };
    for (size_t at = 0; at < word.size();) {
      const size_t from = at;
      const char32_t c = next_char(word, at);
      std::string_view token = word.substr(from, at - from);
      int32_t id = Trie::kNone;
      if (plain) {
        id = c < kDirect ? direct_[c] : vocabulary_.id(token);
      } else {
        scratch.piece.clear();
        if (from > 0) scratch.piece += options_.continuing_subword_prefix;
        scratch.piece += token;
        if (at == word.size()) scratch.piece += options_.end_of_word_suffix;
        token = scratch.piece;
        id = vocabulary_.id(token);
      }
      if (id != Trie::kNone) {
        if (std::exchange(unknown, false)) add(unknown_);
        add(id);
        continue;
      }
      const auto has_id = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)] != Trie::kNone; };
      if (options_.byte_fallback && std::all_of(token.begin(), token.end(), has_id)) {
        for (const char byte : token) add(byte_ids_[static_cast<unsigned char>(byte)]);
        continue;
      }
      if (options_.unk_token.empty()) continue;
      if (unknown_ == Trie::kNone) {
        fail(Code::kCorruptData, where_, ": the unknown token \"", options_.unk_token, "\" is needed and not in the vocabulary");
      }
      if (unknown && !options_.fuse_unk) add(unknown_);
      unknown = true;
    }
    if (unknown) add(unknown_);
  }

  std::string name_ = "BPE";
  BpeOptions options_;
  std::string where_;
  MergeTable merges_;
  int32_t unknown_ = Trie::kNone;
  std::array<int32_t, kDirect> direct_;
  std::array<int32_t, 256> byte_ids_;
};

}  // namespace

std::unique_ptr<TokenModel> make_bpe(Vocabulary vocabulary, const std::vector<MergePair>& merges, const BpeOptions& options,
                                     const std::string& where) {
  return std::make_unique<Bpe>(std::move(vocabulary), merges, options, where);
}

}  // namespace v0
}  // namespace saccade
