#include "runtime/model/tokenizer/trie.h"

#include <algorithm>
#include <string>

namespace saccade {
inline namespace v0 {
namespace {

// Places that no node has yet, each found from any place before it in nearly constant time.
class FreePlaces {
 public:
  // Takes the places of children with these bytes (ascending) and returns their base.
  uint32_t take(std::string_view bytes) {
    const auto lowest = static_cast<unsigned char>(bytes.front());
    // One child fits the first free place. Several give up on the places before `sparse_` once many of them did not fit.
    constexpr int kTries = 32;
    uint32_t at = next(std::max<uint32_t>(bytes.size() == 1 ? 1 : sparse_, lowest + 1u));
    for (int tries = 1; !fits(at - lowest, bytes); ++tries) {
      at = next(at + 1);
      if (tries == kTries) sparse_ = at;
    }
    for (const char byte : bytes) {
      const uint32_t place = at - lowest + static_cast<unsigned char>(byte);
      next_[place] = place + 1;
    }
    return at - lowest;
  }

 private:
  void grow(size_t size) {
    while (next_.size() < size) next_.push_back(static_cast<uint32_t>(next_.size()));
  }
  uint32_t next(uint32_t at) {
    grow(at + 1);
    while (next_[at] != at) {
      grow(next_[at] + 1);
      at = next_[at] = next_[next_[at]];
    }
    return at;
  }
  bool fits(uint32_t base, std::string_view bytes) {
    grow(base + 256);
    return std::all_of(bytes.begin(), bytes.end(), [&](char byte) {
      const uint32_t place = base + static_cast<unsigned char>(byte);
      return next_[place] == place;
    });
  }

  std::vector<uint32_t> next_;  // itself when free, else a place behind it
  uint32_t sparse_ = 1;
};

}  // namespace

Trie::Trie(std::vector<Entry> entries) : units_(kPadding) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.first < b.first; });
  size_t kept = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const bool last = i + 1 == entries.size() || entries[i + 1].first != entries[i].first;
    if (last && !entries[i].first.empty()) entries[kept++] = entries[i];
  }
  entries.resize(kept);
  size_ = kept;

  struct Range {
    uint32_t node;
    size_t from, to, depth;
  };
  std::vector<Range> open;
  if (!entries.empty()) open.push_back({kRoot, 0, entries.size(), 0});
  std::string bytes;
  FreePlaces free;
  while (!open.empty()) {
    Range range = open.back();
    open.pop_back();
    if (entries[range.from].first.size() == range.depth) units_[range.node].value = entries[range.from++].second;
    bytes.clear();
    for (size_t i = range.from; i < range.to; ++i) {
      const char byte = entries[i].first[range.depth];
      if (bytes.empty() || bytes.back() != byte) bytes += byte;
    }
    if (bytes.empty()) continue;
    const uint32_t base = free.take(bytes);
    if (base + kPadding > units_.size()) units_.resize(std::max<size_t>(base + kPadding, units_.size() + units_.size() / 2));
    units_[range.node].base = base;
    size_t from = range.from;
    for (const char byte : bytes) {
      size_t to = from;
      while (to < range.to && entries[to].first[range.depth] == byte) ++to;
      const uint32_t child = base + static_cast<unsigned char>(byte);
      units_[child].check = range.node;
      open.push_back({child, from, to, range.depth + 1});
      from = to;
    }
  }
  units_.shrink_to_fit();
}

int32_t Trie::find(std::string_view key) const {
  uint32_t node = kRoot;
  for (const char byte : key) {
    if (!step(node, byte)) return kNone;
  }
  return value(node);
}

int32_t Trie::longest(std::string_view text, size_t from, size_t& end) const {
  int32_t best = kNone;
  uint32_t node = kRoot;
  for (size_t at = from; at < text.size() && step(node, text[at]);) {
    ++at;
    if (value(node) == kNone) continue;
    best = value(node);
    end = at;
  }
  return best;
}

}  // namespace v0
}  // namespace saccade
