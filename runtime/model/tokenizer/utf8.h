// UTF-8. Text is checked once, where it comes in (well_formed, repaired); everything after that reads well-formed text only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace saccade {
inline namespace v0 {

bool well_formed(std::string_view bytes);

// The bytes with U+FFFD in place of every maximal part that is not UTF-8, as Unicode recommends (section 3.9, table 3-8).
std::string repaired(std::string_view bytes);

// Bytes of the character that starts with this byte of well-formed text.
inline size_t utf8_size(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}
inline bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The character at `at` of well-formed text; `at` moves behind it.
inline char32_t next_char(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + i])); };
  const char32_t lead = byte(0);
  char32_t c = lead;
  size_t size = 1;
  if (lead >= 0xF0) {
    c = (lead & 7) << 18 | (byte(1) & 63) << 12 | (byte(2) & 63) << 6 | (byte(3) & 63);
    size = 4;
  } else if (lead >= 0xE0) {
    c = (lead & 15) << 12 | (byte(1) & 63) << 6 | (byte(2) & 63);
    size = 3;
  } else if (lead >= 0x80) {
    c = (lead & 31) << 6 | (byte(1) & 63);
    size = 2;
  }
  at += size;
  return c;
}
// The character that ends at `at` > 0; `at` moves to its first byte.
inline char32_t previous_char(std::string_view text, size_t& at) {
  do --at;
  while (is_continuation(text[at]));
  size_t from = at;
  return next_char(text, from);
}

inline void append_char(std::string& text, char32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0 | c >> 6);
    text += static_cast<char>(0x80 | (c & 63));
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0 | c >> 12);
    text += static_cast<char>(0x80 | (c >> 6 & 63));
    text += static_cast<char>(0x80 | (c & 63));
  } else {
    text += static_cast<char>(0xF0 | c >> 18);
    text += static_cast<char>(0x80 | (c >> 12 & 63));
    text += static_cast<char>(0x80 | (c >> 6 & 63));
    text += static_cast<char>(0x80 | (c & 63));
  }
}

inline size_t count_chars(std::string_view text) {
  size_t count = 0;
  for (char byte : text) count += !is_continuation(byte);
  return count;
}

}  // namespace v0
}  // namespace saccade
