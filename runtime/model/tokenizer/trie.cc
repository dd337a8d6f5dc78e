#include "runtime/model/tokenizer/trie.h"

#include <algorithm>
#include <string>

namespace saccade {
inline namespace v0 {

Trie::Trie(std::vector<Entry> entries) : units_(kPadding) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.first < b.first; });
  size_t kept = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const bool last = i + 1 == entries.size() || entries[i + 1].first != entries[i].first;
    if (last && !entries[i].first.empty()) entries[kept++] = entries[i];
  }
  entries.resize(kept);

  struct Range {
    uint32_t node;
    size_t from, to, depth;
  };
  std::vector<Range> open;
  if (!entries.empty()) open.push_back({kRoot, 0, entries.size(), 0});
  std::string bytes;
  uint32_t first_free = 1;
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
    const uint32_t base = place(bytes, first_free);
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

// A base for which all these children are free (ascending bytes). Places up to first_free are full, or nearly.
uint32_t Trie::place(std::string_view bytes, uint32_t& first_free) {
  const auto lowest = static_cast<unsigned char>(bytes.front());
  uint32_t at = std::max<uint32_t>(first_free, lowest + 1u);
  uint32_t taken = 0;
  for (const uint32_t start = at;; ++at) {
    if (at + kPadding > units_.size()) units_.resize(std::max<size_t>(at + kPadding, units_.size() + units_.size() / 2));
    if (units_[at].check != UINT32_MAX) {
      ++taken;
      continue;
    }
    const uint32_t base = at - lowest;
    const bool fits = std::all_of(bytes.begin(), bytes.end(),
                                  [&](char byte) { return units_[base + static_cast<unsigned char>(byte)].check == UINT32_MAX; });
    if (!fits) continue;
    // Searches begin behind a stretch that is 95 % full, so that building stays linear.
    if (taken * 20 >= (at - start + 1) * 19 && at >= first_free) first_free = at;
    return base;
  }
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
