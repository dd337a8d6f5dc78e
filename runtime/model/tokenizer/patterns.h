// What a text is split at, or replaced: a literal, a class of characters, or one of the regular expressions that published
// tokenizers use, each as a scanner written out. Any other expression is refused.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/model/json.h"

namespace saccade {
inline namespace v0 {

class Pattern {
 public:
  virtual ~Pattern() = default;
  // The first match that begins at `at` or later, as [from, to) with from < to; false when there is none.
  virtual bool next(std::string_view text, size_t at, size_t& from, size_t& to) const = 0;
};

std::unique_ptr<Pattern> make_literal_pattern(std::string literal);  // not empty
std::unique_ptr<Pattern> make_class_pattern(unsigned classes);       // one character of any of these (enum CharClass)
std::unique_ptr<Pattern> make_gpt2_pattern();                        // that of ByteLevel
std::unique_ptr<Pattern> make_words_pattern();                       // \w+|[^\w\s]+

// From {"String": "..."} or {"Regex": "..."}. `unsupported` quotes an expression that is not known.
std::unique_ptr<Pattern> read_pattern(const Json& json);

}  // namespace v0
}  // namespace saccade
