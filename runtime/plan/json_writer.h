// JSON text, written piece by piece; commas and escapes are put where they belong.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace saccade {
inline namespace v0 {

class JsonWriter {
 public:
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(std::string_view name) {
    comma();
    quoted(name);
    out_ += ':';
    comma_ = false;
  }
  void value(std::string_view text) {
    comma();
    quoted(text);
    comma_ = true;
  }
  void value(int64_t number) {
    comma();
    out_ += std::to_string(number);
    comma_ = true;
  }
  template <class T>
  void field(std::string_view name, const T& content) {
    key(name);
    value(content);
  }
  const std::string& text() const { return out_; }

 private:
  void comma() {
    if (comma_) out_ += ',';
  }
  void open(char bracket) {
    comma();
    out_ += bracket;
    comma_ = false;
  }
  void close(char bracket) {
    out_ += bracket;
    comma_ = true;
  }
  void quoted(std::string_view text) {
    out_ += '"';
    for (char c : text) {
      if (c == '"' || c == '\\') {
        out_ += '\\';
        out_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        constexpr char kHex[] = "0123456789abcdef";
        out_ += "\\u00";
        out_ += kHex[c >> 4];
        out_ += kHex[c & 15];
      } else {
        out_ += c;
      }
    }
    out_ += '"';
  }

  std::string out_;
  bool comma_ = false;
};

}  // namespace v0
}  // namespace saccade
