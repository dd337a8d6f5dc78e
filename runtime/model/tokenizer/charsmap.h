// sentencepiece's precompiled character map: u32 size of a double-array trie in bytes (little endian), its units, then the
// replacements, each ended by a zero byte; a key's value is the place of its replacement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace saccade {
inline namespace v0 {

class CharsMap {
 public:
  // `where` names the map in messages. corrupt_data when sizes disagree or the replacements are not UTF-8.
  CharsMap(std::string_view blob, const std::string& where);

  // Replacement of the shortest key that the text starts with, as the library looks it up.
  std::optional<std::string_view> find(std::string_view text) const;

  // Appends the mapped text: each grapheme cluster under 6 bytes as a whole if the map knows it, else character by character.
  void append_mapped(std::string_view text, std::string& out) const;

 private:
  std::vector<uint32_t> units_;
  std::string replacements_;
};

// Bytes of a base64 text; corrupt_data unless it is one.
std::string from_base64(std::string_view text, const std::string& where);

}  // namespace v0
}  // namespace saccade
