// A double-array trie over bytes: the child of node s for byte b is base[s] + b if its check is s. One memory access per byte.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace saccade {
inline namespace v0 {

class Trie {
 public:
  using Entry = std::pair<std::string_view, int32_t>;  // key, value >= 0

  Trie() : units_(kPadding) {}
  explicit Trie(std::vector<Entry> entries);  // of equal keys, the last one counts; empty keys are left out

  static constexpr uint32_t kRoot = 0;
  static constexpr int32_t kNone = -1;

  size_t size() const { return size_; }  // keys

  // Moves node to its child for the byte; false when there is none.
  bool step(uint32_t& node, char byte) const {
    const uint32_t child = units_[node].base + static_cast<unsigned char>(byte);
    if (units_[child].check != node) return false;
    node = child;
    return true;
  }
  int32_t value(uint32_t node) const { return units_[node].value; }  // kNone where no key ends

  // Value of the whole key.
  int32_t find(std::string_view key) const;
  // Value of the longest key that text[from..] starts with, its end in `end`.
  int32_t longest(std::string_view text, size_t from, size_t& end) const;

 private:
  struct Unit {
    uint32_t base = 0;
    uint32_t check = UINT32_MAX;  // the parent; free or root: no node
    int32_t value = kNone;
  };
  static constexpr size_t kPadding = 256;  // base + any byte is inside

  std::vector<Unit> units_;
  size_t size_ = 0;
};

}  // namespace v0
}  // namespace saccade
