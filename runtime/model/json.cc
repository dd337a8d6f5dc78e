#include "runtime/model/json.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <type_traits>

#include "runtime/graph/check.h"
#include "runtime/model/files.h"

namespace saccade {
inline namespace v0 {

namespace dom = simdjson::dom;
using Bits = std::array<uint64_t, 2>;
static_assert(sizeof(dom::element) == sizeof(Bits) && std::is_trivially_copyable_v<dom::element>);

struct JsonDocument::Parsed {
  std::string name;
  dom::parser parser;
  dom::element root;
};

struct JsonAccess {
  static dom::element element(const Json& json) { return std::bit_cast<dom::element>(Bits{json.element_[0], json.element_[1]}); }
  static dom::element root(const Json& json) { return json.document_->parsed_->root; }
  static Json value(const JsonDocument* document, dom::element element) {
    Json json;
    if (element.is_null()) return json;
    json.document_ = document;
    const Bits bits = std::bit_cast<Bits>(element);
    std::copy(bits.begin(), bits.end(), json.element_);
    return json;
  }
};

namespace {

// First key of an object, anywhere below, that occurs twice; empty when there is none.
std::string duplicate_key(dom::element value) {
  std::vector<dom::element> open{value};
  std::vector<std::string_view> keys;
  while (!open.empty()) {
    const dom::element next = open.back();
    open.pop_back();
    const auto visit = [&](dom::element child) {
      if (child.is_array() || child.is_object()) open.push_back(child);
    };
    if (next.is_array()) {
      for (const dom::element child : dom::array(next)) visit(child);
      continue;
    }
    if (!next.is_object()) continue;
    keys.clear();
    for (const auto& [key, child] : dom::object(next)) {
      keys.push_back(key);
      visit(child);
    }
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) return text("\"", twice->substr(0, 100), "\"");
  }
  return {};
}

// Appends the path from `from` to the element. It is found by looking for the element: only failures need it.
bool find_path(dom::element from, dom::element wanted, std::string& path) {
  if (std::bit_cast<Bits>(from) == std::bit_cast<Bits>(wanted)) return true;
  const size_t length = path.size();
  if (from.is_array()) {
    size_t index = 0;
    for (const dom::element child : dom::array(from)) {
      path += text("[", index++, "]");
      if (find_path(child, wanted, path)) return true;
      path.resize(length);
    }
  } else if (from.is_object()) {
    for (const auto& [key, child] : dom::object(from)) {
      if (!path.empty()) path += '.';
      path += key.substr(0, 100);
      if (find_path(child, wanted, path)) return true;
      path.resize(length);
    }
  }
  return false;
}

// The text with ".0" after every integer of 19 digits or more: the parser refuses integers beyond 64 bits, which files hold
// ("model_max_length": 1000000000000000019884624838656), but takes any floating-point number.
std::string with_long_integers_as_floats(std::string_view json) {
  constexpr size_t kDigits = 19;  // of the largest int64
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < json.size();) {
    const size_t begin = i;
    if (!quoted && json[i] >= '0' && json[i] <= '9') {
      i = std::min(json.find_first_not_of("0123456789.eE+-", i), json.size());
      const std::string_view number = json.substr(begin, i - begin);
      out += number;
      if (number.size() >= kDigits && number.find_first_of(".eE+-") == std::string_view::npos) out += ".0";
      continue;
    }
    if (json[i] == '"') quoted = !quoted;
    i += quoted && json[i] == '\\' ? 2 : 1;
    out += json.substr(begin, i - begin);
  }
  return out;
}

[[noreturn]] void wrong(const Json& json, std::string_view expected) {
  fail(Code::kCorruptData, json.where(), ": expected ", expected, ", found ", json.describe());
}

}  // namespace

JsonDocument::JsonDocument(std::string name, std::string_view json) : parsed_(std::make_unique<Parsed>()) {
  parsed_->name = std::move(name);
  auto error = parsed_->parser.parse(simdjson::padded_string(json)).get(parsed_->root);
  if (error != simdjson::SUCCESS) {  // which error it is for such an integer differs between versions of the parser
    error = parsed_->parser.parse(simdjson::padded_string(with_long_integers_as_floats(json))).get(parsed_->root);
  }
  if (error != simdjson::SUCCESS) fail(Code::kCorruptData, parsed_->name, ": not valid JSON: ", simdjson::error_message(error));
  if (const std::string key = duplicate_key(parsed_->root); !key.empty()) {
    fail(Code::kCorruptData, parsed_->name, ": the key ", key, " occurs twice in one object");
  }
}
JsonDocument::~JsonDocument() = default;

JsonDocument JsonDocument::read(const std::string& path, int64_t limit) { return JsonDocument(path, read_file(path, limit)); }

const std::string& JsonDocument::name() const { return parsed_->name; }

Json JsonDocument::root() const { return JsonAccess::value(this, parsed_->root); }

bool Json::is_object() const { return present() && JsonAccess::element(*this).is_object(); }
bool Json::is_array() const { return present() && JsonAccess::element(*this).is_array(); }
bool Json::is_string() const { return present() && JsonAccess::element(*this).is_string(); }
bool Json::is_number() const { return present() && JsonAccess::element(*this).is_number(); }
bool Json::is_boolean() const { return present() && JsonAccess::element(*this).is_bool(); }

Json Json::find(std::string_view key) const {
  if (!is_object()) wrong(*this, "an object");
  dom::element member;
  if (dom::object(JsonAccess::element(*this)).at_key(key).get(member) != simdjson::SUCCESS) return {};
  return JsonAccess::value(document_, member);
}

Json Json::at(std::string_view key) const {
  const Json member = find(key);
  if (!member) fail(Code::kCorruptData, where(), ": the key \"", key, "\" is missing");
  return member;
}

std::vector<std::pair<std::string_view, Json>> Json::members() const {
  if (!is_object()) wrong(*this, "an object");
  std::vector<std::pair<std::string_view, Json>> all;
  for (const auto& [key, value] : dom::object(JsonAccess::element(*this))) {
    all.emplace_back(key, JsonAccess::value(document_, value));
  }
  return all;
}

std::vector<Json> Json::elements() const {
  if (!is_array()) wrong(*this, "an array");
  std::vector<Json> all;
  for (const dom::element value : dom::array(JsonAccess::element(*this))) all.push_back(JsonAccess::value(document_, value));
  return all;
}

std::string_view Json::string() const {
  if (!is_string()) wrong(*this, "a string");
  return std::string_view(JsonAccess::element(*this));
}

bool Json::boolean() const {
  if (!is_boolean()) wrong(*this, "true or false");
  return bool(JsonAccess::element(*this));
}

double Json::number() const {
  if (!is_number()) wrong(*this, "a number");
  return double(JsonAccess::element(*this));
}

int64_t Json::integer(int64_t low, int64_t high) const {
  int64_t value = 0;
  bool whole = is_number();
  if (whole && JsonAccess::element(*this).get(value) != simdjson::SUCCESS) {
    const double x = number();
    whole = std::abs(x) < 9e15 && x == std::floor(x);
    if (whole) value = static_cast<int64_t>(x);
  }
  if (!whole || value < low || value > high) wrong(*this, text("an integer from ", low, " to ", high));
  return value;
}

std::string Json::string_or(std::string_view key, std::string_view otherwise) const {
  const Json member = find(key);
  return std::string(member ? member.string() : otherwise);
}
bool Json::boolean_or(std::string_view key, bool otherwise) const {
  const Json member = find(key);
  return member ? member.boolean() : otherwise;
}
double Json::number_or(std::string_view key, double otherwise) const {
  const Json member = find(key);
  return member ? member.number() : otherwise;
}
int64_t Json::integer_or(std::string_view key, int64_t otherwise, int64_t low, int64_t high) const {
  const Json member = find(key);
  return member ? member.integer(low, high) : otherwise;
}

std::string Json::where() const {
  if (!present()) return "(a value that is not there)";
  std::string path;
  find_path(JsonAccess::root(*this), JsonAccess::element(*this), path);
  return path.empty() ? document_->name() : text(document_->name(), ": ", path);
}

std::string Json::describe() const {
  if (!present()) return "nothing";
  if (is_object()) return "an object";
  if (is_array()) return "an array";
  if (is_string()) return text("\"", string().substr(0, 100), "\"");
  return simdjson::minify(JsonAccess::element(*this));
}

}  // namespace v0
}  // namespace saccade
