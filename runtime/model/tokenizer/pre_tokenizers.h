// Pre-tokenizers of tokenizer.json: a text is cut into words, and some rewrite it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/json.h"

namespace saccade {
inline namespace v0 {

struct Word {
  size_t from, to;  // bytes of Words::text
  bool at_start;    // NormalizedText::at_start, for the word that begins there
};
// Not empty words, in order. Every step writes the other half of the pair and swaps what it wrote.
struct Words {
  std::string text, new_text;
  std::vector<Word> words, new_words;

  void assign(std::string_view from, bool at_start) {
    text = from;
    words.clear();
    if (!from.empty()) words.push_back({0, from.size(), at_start});
  }
  std::string_view view(const Word& word) const { return std::string_view(text).substr(word.from, word.to - word.from); }
  void take_words() {
    words.swap(new_words);
    new_words.clear();
  }
  void take_text() {
    text.swap(new_text);
    new_text.clear();
    take_words();
  }
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Words& words) const = 0;
};

std::unique_ptr<PreTokenizer> make_bert_pre_tokenizer();
std::unique_ptr<PreTokenizer> make_byte_level(bool add_prefix_space, bool use_regex);
enum class Prepend : uint8_t { kAlways, kFirst, kNever };
std::unique_ptr<PreTokenizer> make_metaspace(std::string replacement, Prepend prepend, bool split);
std::unique_ptr<PreTokenizer> make_sequence(std::vector<std::unique_ptr<PreTokenizer>> steps);
std::unique_ptr<PreTokenizer> make_whitespace_split();

// From the value of "pre_tokenizer"; null for an absent one. `unsupported` names a type or option that is not known.
std::unique_ptr<PreTokenizer> read_pre_tokenizer(const Json& json);

}  // namespace v0
}  // namespace saccade
