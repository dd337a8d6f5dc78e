// JSON of a model directory, read by simdjson's DOM parser behind the checks that it does not make: a size limit, no duplicate
// keys, no trailing bytes. Every getter that fails throws Failure (graph/check.h) naming the file, the path of the key, what was
// expected and what is there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace saccade {
inline namespace v0 {

class JsonDocument;

// A value of a document, cheap to copy; the document must outlive it. Default-constructed: absent.
class Json {
 public:
  Json() = default;

  bool present() const { return document_ != nullptr; }
  explicit operator bool() const { return present(); }
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_number() const;
  bool is_boolean() const;

  // Members of an object. A null counts as absent: find gives an absent value then, at fails.
  Json find(std::string_view key) const;
  Json at(std::string_view key) const;
  std::vector<std::pair<std::string_view, Json>> members() const;  // in the order of the file; nulls are absent values

  std::vector<Json> elements() const;  // of an array; nulls are absent values

  std::string_view string() const;
  bool boolean() const;
  double number() const;
  int64_t integer(int64_t low, int64_t high) const;  // 3.0 counts as 3

  // The member, or the default when it is absent.
  std::string string_or(std::string_view key, std::string_view otherwise) const;
  bool boolean_or(std::string_view key, bool otherwise) const;
  double number_or(std::string_view key, double otherwise) const;
  int64_t integer_or(std::string_view key, int64_t otherwise, int64_t low, int64_t high) const;

  std::string where() const;     // "config.json: rope_scaling.factor"
  std::string describe() const;  // the value as text for a message, cut short: "\"gelu\"", "an object"

 private:
  friend class JsonDocument;
  friend struct JsonAccess;
  const JsonDocument* document_ = nullptr;
  uint64_t element_[2] = {};  // a simdjson::dom::element
};

class JsonDocument {
 public:
  // `name` goes into messages. corrupt_data unless the text is one JSON value without duplicate keys.
  JsonDocument(std::string name, std::string_view text);
  ~JsonDocument();
  JsonDocument(const JsonDocument&) = delete;  // its values point at it
  JsonDocument& operator=(const JsonDocument&) = delete;

  // The whole file, at most `limit` bytes (tokenizer.json of a large vocabulary has some 20 MB).
  static JsonDocument read(const std::string& path, int64_t limit = int64_t{64} << 20);

  Json root() const;
  const std::string& name() const;

 private:
  friend class Json;
  friend struct JsonAccess;
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace v0
}  // namespace saccade
