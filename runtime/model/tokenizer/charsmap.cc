#include "runtime/model/tokenizer/charsmap.h"

#include "runtime/graph/check.h"
#include "runtime/model/tokenizer/unicode.h"
#include "runtime/model/tokenizer/utf8.h"

namespace saccade {
inline namespace v0 {
namespace {

uint32_t little_endian(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

// Fields of a unit, as the Darts-clone format packs them.
bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t leaf_value(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t label(uint32_t unit) { return unit & 0x800000FF; }
uint32_t offset(uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

}  // namespace

CharsMap::CharsMap(std::string_view blob, const std::string& where) {
  if (blob.size() < 4) fail(Code::kCorruptData, where, ": a character map has at least 4 bytes, found ", blob.size());
  const size_t size = little_endian(blob, 0);
  if (size > blob.size() - 4 || size % 4 != 0 || size == 0) {
    fail(Code::kCorruptData, where, ": the character map's trie has ", size, " bytes, expected a multiple of 4 up to ",
         blob.size() - 4);
  }
  units_.resize(size / 4);
  for (size_t i = 0; i < units_.size(); ++i) units_[i] = little_endian(blob, 4 + 4 * i);
  replacements_ = blob.substr(4 + size);
  if (!well_formed(replacements_)) fail(Code::kCorruptData, where, ": the character map's replacements are not UTF-8");
}

std::optional<std::string_view> CharsMap::find(std::string_view text) const {
  size_t node = offset(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) break;
    node ^= byte;
    if (node >= units_.size()) break;
    const uint32_t unit = units_[node];
    if (label(unit) != byte) break;
    node ^= offset(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size()) break;
    const size_t from = leaf_value(units_[node]);
    if (from > replacements_.size() || (from < replacements_.size() && is_continuation(replacements_[from]))) break;
    const size_t to = replacements_.find('\0', from);
    return std::string_view(replacements_).substr(from, to == std::string::npos ? to : to - from);
  }
  return std::nullopt;
}

void CharsMap::append_mapped(std::string_view text, std::string& out) const {
  for (size_t at = 0; at < text.size();) {
    const size_t end = grapheme_end(text, at);
    const std::string_view cluster = text.substr(at, end - at);
    at = end;
    if (cluster.size() < 6) {
      if (const auto mapped = find(cluster)) {
        out += *mapped;
        continue;
      }
      if (cluster.size() == utf8_size(cluster.front())) {
        out += cluster;
        continue;
      }
    }
    for (size_t i = 0; i < cluster.size();) {
      const std::string_view part = cluster.substr(i, utf8_size(cluster[i]));
      out += find(part).value_or(part);
      i += part.size();
    }
  }
}

std::string from_base64(std::string_view text, const std::string& where) {
  const auto digit = [](char c) -> int {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
  };
  bool good = text.size() % 4 == 0;
  size_t padding = 0;
  while (good && padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string bytes;
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size() - padding && good; ++i) {
    const int value = digit(text[i]);
    good = value >= 0;
    bits = bits << 6 | static_cast<uint32_t>(value & 63);
    const size_t have = (i + 1) * 6;  // a byte is complete at the 2nd, 3rd and 4th digit of four
    if (i % 4 != 0) bytes += static_cast<char>(bits >> (have % 8) & 0xFF);
  }
  if (!good) fail(Code::kCorruptData, where, ": expected base64");
  return bytes;
}

}  // namespace v0
}  // namespace saccade
