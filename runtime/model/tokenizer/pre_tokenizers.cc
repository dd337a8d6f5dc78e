#include "runtime/model/tokenizer/pre_tokenizers.h"

#include <array>
#include <utility>

#include "runtime/graph/check.h"
#include "runtime/model/tokenizer/patterns.h"
#include "runtime/model/tokenizer/unicode.h"
#include "runtime/model/tokenizer/utf8.h"

namespace saccade {
inline namespace v0 {
namespace {

// What becomes of a match: its own word, dropped, joined with the word before or after it, or with matches that touch it.
enum class Behavior : uint8_t { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
constexpr const char* kBehaviors[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};

class Split : public PreTokenizer {
 public:
  Split(std::unique_ptr<Pattern> pattern, Behavior behavior, bool invert = false)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void apply(Words& words) const override {
    std::vector<Part> parts;
    for (const Word& word : words.words) {
      parts.clear();
      cut(words.view(word), parts);
      merge(parts);
      for (const Part& part : parts) {
        if (part.match && behavior_ == Behavior::kRemoved) continue;
        words.new_words.push_back({word.from + part.from, word.from + part.to, word.at_start && part.from == 0});
      }
    }
    words.take_words();
  }

 private:
  struct Part {
    size_t from, to;
    bool match;
  };

  void cut(std::string_view text, std::vector<Part>& parts) const {
    size_t at = 0, from = 0, to = 0;
    while (pattern_->next(text, at, from, to)) {
      if (from > at) parts.push_back({at, from, invert_});
      parts.push_back({from, to, !invert_});
      at = to;
    }
    if (at < text.size()) parts.push_back({at, text.size(), invert_});
  }

  // Joins neighbours. With previous: a match goes to the part before it, unless that is a match; with next: to the part after
  // it, unless that is a match; contiguous: parts of the same kind become one.
  void merge(std::vector<Part>& parts) const {
    if (behavior_ == Behavior::kRemoved || behavior_ == Behavior::kIsolated) return;
    size_t kept = 0;
    bool previous_match = false;
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool next = i > 0 && behavior_ == Behavior::kMergedWithNext && previous_match && !parts[i].match;
      const bool previous = kept > 0 && behavior_ == Behavior::kMergedWithPrevious && parts[i].match && !previous_match;
      const bool same = kept > 0 && behavior_ == Behavior::kContiguous && parts[i].match == previous_match;
      previous_match = parts[i].match;
      if (next || previous || same) {
        parts[kept - 1].to = parts[i].to;
      } else {
        parts[kept++] = parts[i];
      }
    }
    parts.resize(kept);
  }

  std::unique_ptr<Pattern> pattern_;
  Behavior behavior_;
  bool invert_;
};

// Split at white space, then every punctuation character apart; in one pass, ASCII by table.
class BertPreTokenizer : public PreTokenizer {
 public:
  BertPreTokenizer() {
    for (char32_t c = 0; c < 0x80; ++c) ascii_[c] = static_cast<uint8_t>(table_[c] & (kSpace | kPunctuation));
  }
  void apply(Words& words) const override {
    for (const Word& word : words.words) {
      size_t begin = word.from;
      const auto end_word = [&](size_t end) {
        if (end > begin) words.new_words.push_back({begin, end, word.at_start && begin == word.from});
      };
      for (size_t at = word.from; at < word.to;) {
        const size_t from = at;
        const auto byte = static_cast<unsigned char>(words.text[at]);
        const unsigned classes = byte < 0x80 ? (++at, ascii_[byte]) : table_[next_char(words.text, at)];
        if ((classes & (kSpace | kPunctuation)) == 0) continue;
        end_word(from);
        begin = from;
        if ((classes & kPunctuation) != 0) end_word(at);
        begin = at;
      }
      end_word(word.to);
    }
    words.take_words();
  }

 private:
  const CharTable& table_ = char_table();
  std::array<uint8_t, 128> ascii_;
};

// Splits as GPT-2 does (unless use_regex is off), then writes every byte as a visible character: itself if it is one, else
// U+0100 and up in the order of the bytes that are none.
class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool use_regex) : add_prefix_space_(add_prefix_space) {
    if (use_regex) split_ = std::make_unique<Split>(make_gpt2_pattern(), Behavior::kIsolated);
    char32_t hidden = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool visible = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
      append_char(characters_[byte], visible ? byte : hidden++);
    }
  }

  void apply(Words& words) const override {
    if (add_prefix_space_) {
      for (const Word& word : words.words) {
        const size_t from = words.new_text.size();
        if (words.text[word.from] != ' ') words.new_text += ' ';
        words.new_text += words.view(word);
        words.new_words.push_back({from, words.new_text.size(), word.at_start});
      }
      words.take_text();
    }
    if (split_) split_->apply(words);
    for (const Word& word : words.words) {
      const size_t from = words.new_text.size();
      for (const char byte : words.view(word)) words.new_text += characters_[static_cast<unsigned char>(byte)];
      words.new_words.push_back({from, words.new_text.size(), word.at_start});
    }
    words.take_text();
  }

 private:
  bool add_prefix_space_;
  std::unique_ptr<Split> split_;
  std::array<std::string, 256> characters_;
};

// Blanks become the replacement, which begins words; one is put before the text.
class Metaspace : public PreTokenizer {
 public:
  Metaspace(const std::string& replacement, Prepend prepend, bool split) : replacement_(replacement), prepend_(prepend) {
    if (split) split_ = std::make_unique<Split>(make_literal_pattern(replacement), Behavior::kMergedWithNext);
  }
  void apply(Words& words) const override {
    for (const Word& word : words.words) {
      const std::string_view text = words.view(word);
      const size_t from = words.new_text.size();
      const bool marked = text.front() == ' ' || text.starts_with(replacement_);
      const bool wanted = prepend_ == Prepend::kAlways || (prepend_ == Prepend::kFirst && word.at_start);
      if (wanted && !marked) words.new_text += replacement_;
      for (const char byte : text) {
        if (byte == ' ') {
          words.new_text += replacement_;
        } else {
          words.new_text += byte;
        }
      }
      words.new_words.push_back({from, words.new_text.size(), word.at_start});
    }
    words.take_text();
    if (split_) split_->apply(words);
  }

 private:
  std::string replacement_;
  Prepend prepend_;
  std::unique_ptr<Split> split_;
};

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<std::unique_ptr<PreTokenizer>> steps) : steps_(std::move(steps)) {}
  void apply(Words& words) const override {
    for (const auto& step : steps_) step->apply(words);
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

Behavior behavior_of(const Json& json) {
  for (size_t i = 0; i < std::size(kBehaviors); ++i) {
    if (json.string() == kBehaviors[i]) return static_cast<Behavior>(i);
  }
  fail(Code::kUnsupported, json.where(), ": the behavior ", json.describe(), " is not known");
}

Prepend prepend_of(const Json& metaspace) {
  const Json scheme = metaspace.find("prepend_scheme");
  const Json old = metaspace.find("add_prefix_space");
  if (!scheme) return old && !old.boolean() ? Prepend::kNever : Prepend::kAlways;
  const std::string_view name = scheme.string();
  if (name == "always") return Prepend::kAlways;
  if (name == "first") return Prepend::kFirst;
  if (name == "never") return Prepend::kNever;
  fail(Code::kUnsupported, scheme.where(), ": the scheme ", scheme.describe(), " is not known");
}

std::unique_ptr<PreTokenizer> split_at(unsigned classes, Behavior behavior) {
  return std::make_unique<Split>(make_class_pattern(classes), behavior);
}

struct PreTokenizerKind {
  const char* type;
  std::unique_ptr<PreTokenizer> (*make)(const Json& json);
};
constexpr PreTokenizerKind kPreTokenizers[] = {
    {"BertPreTokenizer", [](const Json&) { return make_bert_pre_tokenizer(); }},
    {"ByteLevel",
     [](const Json& json) { return make_byte_level(json.at("add_prefix_space").boolean(), json.boolean_or("use_regex", true)); }},
    {"Digits",
     [](const Json& json) {
       return split_at(kNumeric, json.at("individual_digits").boolean() ? Behavior::kIsolated : Behavior::kContiguous);
     }},
    {"Metaspace",
     [](const Json& json) {
       const Json replacement = json.at("replacement");
       if (count_chars(replacement.string()) != 1) {
         fail(Code::kCorruptData, replacement.where(), ": expected one character, found ", replacement.describe());
       }
       return make_metaspace(std::string(replacement.string()), prepend_of(json), json.boolean_or("split", true));
     }},
    {"Punctuation",
     [](const Json& json) {
       const Json behavior = json.find("behavior");
       return split_at(kPunctuation, behavior ? behavior_of(behavior) : Behavior::kIsolated);
     }},
    {"Split",
     [](const Json& json) -> std::unique_ptr<PreTokenizer> {
       return std::make_unique<Split>(read_pattern(json.at("pattern")), behavior_of(json.at("behavior")),
                                      json.at("invert").boolean());
     }},
    {"Whitespace",
     [](const Json&) -> std::unique_ptr<PreTokenizer> {
       return std::make_unique<Split>(make_words_pattern(), Behavior::kRemoved, true);
     }},
    {"WhitespaceSplit", [](const Json&) { return make_whitespace_split(); }},
};

std::unique_ptr<PreTokenizer> read_nested_pre_tokenizer(const Json& json, int depth) {
  constexpr int kDeepest = 8;  // published files nest once
  if (!json) return nullptr;
  const std::string_view type = json.at("type").string();
  for (const PreTokenizerKind& kind : kPreTokenizers) {
    if (type == kind.type) return kind.make(json);
  }
  if (type != "Sequence")
    fail(Code::kUnsupported, json.where(), ": the pre-tokenizer ", json.at("type").describe(), " is not known");
  if (depth == kDeepest) fail(Code::kUnsupported, json.where(), ": sequences nested more than ", kDeepest, " deep");
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  for (const Json& step : json.at("pretokenizers").elements()) steps.push_back(read_nested_pre_tokenizer(step, depth + 1));
  return make_sequence(std::move(steps));
}

}  // namespace

std::unique_ptr<PreTokenizer> make_bert_pre_tokenizer() { return std::make_unique<BertPreTokenizer>(); }
std::unique_ptr<PreTokenizer> make_byte_level(bool add_prefix_space, bool use_regex) {
  return std::make_unique<ByteLevel>(add_prefix_space, use_regex);
}
std::unique_ptr<PreTokenizer> make_metaspace(std::string replacement, Prepend prepend, bool split) {
  return std::make_unique<Metaspace>(replacement, prepend, split);
}
std::unique_ptr<PreTokenizer> make_whitespace_split() { return split_at(kSpace, Behavior::kRemoved); }
std::unique_ptr<PreTokenizer> make_sequence(std::vector<std::unique_ptr<PreTokenizer>> steps) {
  std::erase(steps, nullptr);
  return std::make_unique<PreTokenizerSequence>(std::move(steps));
}

std::unique_ptr<PreTokenizer> read_pre_tokenizer(const Json& json) { return read_nested_pre_tokenizer(json, 0); }

}  // namespace v0
}  // namespace saccade
