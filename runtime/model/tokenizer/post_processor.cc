#include "runtime/model/tokenizer/post_processor.h"

#include <algorithm>
#include <optional>

#include "runtime/graph/check.h"

namespace saccade {
inline namespace v0 {
namespace {

using Part = PostProcessor::Part;
using Kind = Part::Kind;

int32_t id_of(const Json& json) { return static_cast<int32_t>(json.integer(0, INT32_MAX)); }

PostProcessor::Template read_template(const Json& json, const Json& special_tokens) {
  PostProcessor::Template parts;
  for (const Json& element : json.elements()) {
    if (const Json sequence = element.find("Sequence")) {
      const std::string_view name = sequence.at("id").string();
      if (name != "A" && name != "B") {
        fail(Code::kCorruptData, sequence.where(), ": expected the sequence A or B, found ", sequence.at("id").describe());
      }
      parts.push_back({name == "A" ? Kind::kFirst : Kind::kSecond, id_of(sequence.at("type_id"))});
      continue;
    }
    const Json special = element.at("SpecialToken");
    Part part{Kind::kSpecial, id_of(special.at("type_id"))};
    for (const Json& id : special_tokens.at(special.at("id").string()).at("ids").elements()) part.ids.push_back(id_of(id));
    parts.push_back(std::move(part));
  }
  return parts;
}

void require_texts(const PostProcessor::Template& parts, const Json& where, std::initializer_list<Kind> texts) {
  for (const Kind text : {Kind::kFirst, Kind::kSecond}) {
    const auto count = std::count_if(parts.begin(), parts.end(), [&](const Part& part) { return part.kind == text; });
    const auto expected = std::count(texts.begin(), texts.end(), text);
    if (count != expected) {
      fail(Code::kUnsupported, where.where(), ": the sequence ", text == Kind::kFirst ? "A" : "B", " occurs ", count,
           " times, expected ", expected);
    }
  }
}

// null: ByteLevel, which changes offsets only.
std::optional<PostProcessor> read_step(const Json& json) {
  const std::string_view type = json.at("type").string();
  if (type == "ByteLevel") return std::nullopt;
  if (type == "TemplateProcessing") {
    const Json tokens = json.at("special_tokens");
    auto single = read_template(json.at("single"), tokens), pair = read_template(json.at("pair"), tokens);
    require_texts(single, json.at("single"), {Kind::kFirst});
    require_texts(pair, json.at("pair"), {Kind::kFirst, Kind::kSecond});
    return PostProcessor(std::move(single), std::move(pair));
  }
  if (type != "BertProcessing" && type != "RobertaProcessing") {
    fail(Code::kUnsupported, json.where(), ": the post-processor ", json.at("type").describe(), " is not known");
  }
  const auto token = [&](const char* key) {
    const auto both = json.at(key).elements();
    if (both.size() != 2)
      fail(Code::kCorruptData, json.at(key).where(), ": expected a token and its id, found ", both.size(), " values");
    return id_of(both[1]);
  };
  return type[0] == 'B' ? PostProcessor::bert(token("cls"), token("sep")) : PostProcessor::roberta(token("cls"), token("sep"));
}

}  // namespace

PostProcessor::PostProcessor() : PostProcessor({{Kind::kFirst, 0}}, {{Kind::kFirst, 0}, {Kind::kSecond, 1}}) {}

PostProcessor PostProcessor::bert(int32_t cls, int32_t sep) {
  const Part begin{Kind::kSpecial, 0, {cls}}, end{Kind::kSpecial, 0, {sep}}, end_second{Kind::kSpecial, 1, {sep}};
  return {{begin, {Kind::kFirst, 0}, end}, {begin, {Kind::kFirst, 0}, end, {Kind::kSecond, 1}, end_second}};
}

PostProcessor PostProcessor::roberta(int32_t cls, int32_t sep) {
  const Part begin{Kind::kSpecial, 0, {cls}}, end{Kind::kSpecial, 0, {sep}};
  return {{begin, {Kind::kFirst, 0}, end}, {begin, {Kind::kFirst, 0}, end, end, {Kind::kSecond, 0}, end}};
}

int64_t PostProcessor::special_count(bool pair) const {
  int64_t count = 0;
  for (const Part& part : pair ? pair_ : single_) count += static_cast<int64_t>(part.ids.size());
  return count;
}

void PostProcessor::assemble(const std::vector<int32_t>& first, const std::vector<int32_t>* second,
                             const TokenizeOptions& options, Tokens& tokens) const {
  const bool pair = second != nullptr;
  const int64_t special = options.special_tokens ? special_count(pair) : 0;
  int64_t a = static_cast<int64_t>(first.size()), b = pair ? static_cast<int64_t>(second->size()) : 0;
  if (options.max_length > 0 && a + b + special > options.max_length) {
    const int64_t room = options.max_length - special;
    if (!options.truncate || room < 0) {
      fail(Code::kOutOfRange, "tokenize: ", a + b + special, " tokens (", special, " special), expected at most ",
           options.max_length);
    }
    if (!pair) {
      a = room;
    } else {
      // The shorter text stays whole if it fits in half of the room; else both get half of it, and of an odd room the longer text
      // (of equal ones the second) gets the odd token.
      const bool second_longer = a <= b;
      const int64_t shorter = std::min({a, b, room / 2});
      a = second_longer ? shorter : room - shorter;
      b = room - a;
    }
  }
  tokens.ids.clear();
  tokens.type_ids.clear();
  tokens.special.clear();
  for (const Part& part : pair ? pair_ : single_) {
    const bool is_special = part.kind == Kind::kSpecial;
    if (is_special && !options.special_tokens) continue;
    const std::vector<int32_t>& ids = is_special ? part.ids : part.kind == Kind::kFirst ? first : *second;
    const int64_t count = is_special ? static_cast<int64_t>(ids.size()) : part.kind == Kind::kFirst ? a : b;
    tokens.ids.insert(tokens.ids.end(), ids.begin(), ids.begin() + count);
    tokens.type_ids.insert(tokens.type_ids.end(), static_cast<size_t>(count), part.type_id);
    tokens.special.insert(tokens.special.end(), static_cast<size_t>(count), is_special ? 1 : 0);
  }
}

PostProcessor read_post_processor(const Json& json) {
  if (!json) return {};
  if (json.at("type").string() != "Sequence") return read_step(json).value_or(PostProcessor());
  std::optional<PostProcessor> found;
  for (const Json& element : json.at("processors").elements()) {
    std::optional<PostProcessor> step = read_step(element);
    if (step && found) fail(Code::kUnsupported, json.where(), ": a sequence with two steps that add tokens");
    if (step) found = std::move(step);
  }
  return found ? std::move(*found) : PostProcessor();
}

}  // namespace v0
}  // namespace saccade
