#include "runtime/model/tokenizer/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "runtime/graph/check.h"
#include "runtime/model/tokenizer/utf8.h"

namespace saccade {
inline namespace v0 {
namespace {

#include "runtime/model/tokenizer/unicode_tables.inc"

utf8proc_option_t options_of(NormalForm form) {
  const bool compose = form == NormalForm::kNfc || form == NormalForm::kNfkc;
  const bool compatible = form == NormalForm::kNfkd || form == NormalForm::kNfkc;
  return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | (compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                                        (compatible ? UTF8PROC_COMPAT : 0));
}

// Normalises a part without ASCII characters at which it could be cut.
void append_part(std::string_view part, utf8proc_option_t options, std::vector<int32_t>& scratch, std::string& out) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(part.data());
  const auto length = static_cast<utf8proc_ssize_t>(part.size());
  utf8proc_ssize_t count = 0;
  while (true) {
    count = utf8proc_decompose(bytes, length, scratch.data(), static_cast<utf8proc_ssize_t>(scratch.size()), options);
    if (count < 0) fail(Code::kInternal, "utf8proc: ", utf8proc_errmsg(count));
    if (static_cast<size_t>(count) <= scratch.size()) break;
    scratch.resize(static_cast<size_t>(count));
  }
  count = utf8proc_normalize_utf32(scratch.data(), count, options);
  if (count < 0) fail(Code::kInternal, "utf8proc: ", utf8proc_errmsg(count));
  for (utf8proc_ssize_t i = 0; i < count; ++i) append_char(out, static_cast<char32_t>(scratch[static_cast<size_t>(i)]));
}

}  // namespace

CharTable::CharTable() : pages_(0x110000 >> kShift) {
  std::map<std::vector<uint16_t>, uint16_t> known;
  std::vector<uint16_t> page(kPage);
  size_t run = 0;
  uint16_t classes = 0;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (run < std::size(kClassRuns) && kClassRuns[run] >> 11 == c) classes = kClassRuns[run++] & 0x7FF;
    page[c & (kPage - 1)] = classes;
    if ((c & (kPage - 1)) != kPage - 1) continue;
    const auto [place, added] = known.emplace(page, static_cast<uint16_t>(known.size()));
    if (added) masks_.insert(masks_.end(), page.begin(), page.end());
    pages_[c >> kShift] = place->second;
  }
}

const CharTable& char_table() {
  static const CharTable table;
  return table;
}

const char* name_of(NormalForm form) {
  constexpr const char* kNames[] = {"NFD", "NFC", "NFKD", "NFKC"};
  return kNames[static_cast<int>(form)];
}

void append_normalized(std::string_view text, NormalForm form, std::vector<int32_t>& scratch, std::string& out) {
  const CharTable& table = char_table();
  const utf8proc_option_t options = options_of(form);
  // ASCII stays as it is; the last character before a part that is not ASCII may compose with that part. Characters that are
  // newer than the library's tables neither move nor change, and nothing composes across them.
  for (size_t at = 0; at < text.size();) {
    size_t from = at;
    while (from < text.size() && static_cast<unsigned char>(text[from]) < 0x80) ++from;
    if (from > at && from < text.size()) --from;
    out += text.substr(at, from - at);
    size_t to = from + (from < text.size() && static_cast<unsigned char>(text[from]) < 0x80);
    size_t end = to;
    while (end < text.size() && static_cast<unsigned char>(text[end]) >= 0x80) {
      if (table.is(next_char(text, end), kUnnormalized)) break;
      to = end;
    }
    if (to > from) append_part(text.substr(from, to - from), options, scratch, out);
    if (end > to) out += text.substr(to, end - to);
    at = end;
  }
}

void append_lowercase(char32_t c, std::string& out) {
  if (c < 0x80) {
    out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return;
  }
  if (c == 0x130) {
    out += "i\u0307";
    return;
  }
  const auto* newer = std::lower_bound(std::begin(kNewerLowercase), std::end(kNewerLowercase), c,
                                       [](const uint32_t(&entry)[2], char32_t wanted) { return entry[0] < wanted; });
  if (newer != std::end(kNewerLowercase) && (*newer)[0] == c) {
    append_char(out, (*newer)[1]);
  } else {
    append_char(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

namespace {

bool is_break(char32_t before, char32_t c, utf8proc_int32_t& state) {
  if (before < 0x80 && c < 0x80 && before != '\r') return true;
  if (std::binary_search(std::begin(kNewerMarks), std::end(kNewerMarks), c)) {
    const auto kind = utf8proc_get_property(static_cast<utf8proc_int32_t>(before))->boundclass;
    return kind == UTF8PROC_BOUNDCLASS_CR || kind == UTF8PROC_BOUNDCLASS_LF || kind == UTF8PROC_BOUNDCLASS_CONTROL;
  }
  return utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before), static_cast<utf8proc_int32_t>(c), &state);
}

}  // namespace

size_t grapheme_end(std::string_view text, size_t from) {
  size_t end = from;
  char32_t last = next_char(text, end);
  utf8proc_int32_t state = 0;
  while (end < text.size()) {
    size_t behind = end;
    const char32_t c = next_char(text, behind);
    if (is_break(last, c, state)) break;
    last = c;
    end = behind;
  }
  return end;
}

}  // namespace v0
}  // namespace saccade
