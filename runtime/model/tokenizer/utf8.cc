#include "runtime/model/tokenizer/utf8.h"

#include <simdjson.h>

namespace saccade {
inline namespace v0 {

bool well_formed(std::string_view bytes) { return simdjson::validate_utf8(bytes.data(), bytes.size()); }

std::string repaired(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + 16);
  for (size_t at = 0; at < bytes.size();) {
    const auto lead = static_cast<unsigned char>(bytes[at]);
    size_t size = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    size_t good = size == 0 ? 0 : 1;  // bytes that begin a character
    while (good < size && at + good < bytes.size()) {
      const auto byte = static_cast<unsigned char>(bytes[at + good]);
      unsigned low = 0x80, high = 0xBF;  // of the second byte: no overlong forms, surrogates or code points over 10FFFF
      if (good == 1) {
        if (lead == 0xE0) low = 0xA0;
        if (lead == 0xED) high = 0x9F;
        if (lead == 0xF0) low = 0x90;
        if (lead == 0xF4) high = 0x8F;
      }
      if (byte < low || byte > high) break;
      ++good;
    }
    if (size != 0 && good == size) {
      out += bytes.substr(at, size);
    } else {
      append_char(out, 0xFFFD);
    }
    at += good == 0 ? 1 : good;
  }
  return out;
}

}  // namespace v0
}  // namespace saccade
