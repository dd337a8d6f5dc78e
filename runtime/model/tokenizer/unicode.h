// What the tokenizers need to know about characters. Classes come from tables that say what the published `tokenizers` library
// does with every code point (it mixes several Unicode versions); normal forms, case and grapheme clusters from utf8proc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace saccade {
inline namespace v0 {

enum CharClass : uint16_t {  // bits of the tables
  kSpace = 1 << 0,           // White_Space: Rust's char::is_whitespace, \s of the regular expressions
  kControl = 1 << 1,         // dropped by BertNormalizer's clean_text
  kNonspacing = 1 << 2,      // dropped by BertNormalizer's strip_accents
  kMark = 1 << 3,            // dropped by StripAccents
  kPunctuation = 1 << 4,     // of BertPreTokenizer and Punctuation: ASCII punctuation and Unicode's P
  kNumeric = 1 << 5,         // of Digits
  kLetter = 1 << 6,          // \p{L}
  kNumber = 1 << 7,          // \p{N}
  kWord = 1 << 8,            // \w of Whitespace and of single_word
  kChinese = 1 << 9,         // gets spaces around it by BertNormalizer's handle_chinese_chars
  kUnnormalized = 1 << 10,   // newer than the normal forms of the library: left as it is
};

// Classes of every code point (enum CharClass), looked up in two steps.
class CharTable {
 public:
  CharTable();
  uint16_t operator[](char32_t c) const { return masks_[static_cast<size_t>(pages_[c >> kShift]) << kShift | (c & (kPage - 1))]; }
  bool is(char32_t c, unsigned classes) const { return ((*this)[c] & classes) != 0; }

 private:
  static constexpr int kShift = 7;
  static constexpr char32_t kPage = 1 << kShift;
  std::vector<uint16_t> pages_, masks_;
};
const CharTable& char_table();

enum class NormalForm : uint8_t { kNfd, kNfc, kNfkd, kNfkc };
const char* name_of(NormalForm form);

// Appends the normal form of the text. Scratch is reused between calls.
void append_normalized(std::string_view text, NormalForm form, std::vector<int32_t>& scratch, std::string& out);

// Appends the lowercase of one character: one, or two for U+0130, as Unicode's default mapping without context.
void append_lowercase(char32_t c, std::string& out);

// End of the grapheme cluster that begins at `from`.
size_t grapheme_end(std::string_view text, size_t from);

}  // namespace v0
}  // namespace saccade
