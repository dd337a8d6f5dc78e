#include "runtime/model/tokenizer/patterns.h"

#include <utility>

#include "runtime/graph/check.h"
#include "runtime/model/tokenizer/unicode.h"
#include "runtime/model/tokenizer/utf8.h"

namespace saccade {
inline namespace v0 {
namespace {

class Literal : public Pattern {
 public:
  explicit Literal(std::string literal) : literal_(std::move(literal)) {}
  bool next(std::string_view text, size_t at, size_t& from, size_t& to) const override {
    from = text.find(literal_, at);
    to = from + literal_.size();
    return from != std::string_view::npos;
  }

 private:
  std::string literal_;
};

// A reader of characters and of the runs that the expressions are made of.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool ends(size_t at) const { return at >= text_.size(); }
  char byte(size_t at) const { return ends(at) ? '\0' : text_[at]; }
  bool is(size_t at, unsigned classes) const { return !ends(at) && table_.is(next_char(text_, at), classes); }
  size_t after(size_t at) const { return at + utf8_size(text_[at]); }
  bool is_break(size_t at) const { return byte(at) == '\r' || byte(at) == '\n'; }

  // End of the run of at most `most` characters that are of these classes (or, with `of` false, of none of them).
  size_t run(size_t at, unsigned classes, bool of = true, size_t most = SIZE_MAX) const {
    for (; !ends(at) && most > 0; --most) {
      size_t behind = at;
      if (table_.is(next_char(text_, behind), classes) != of) break;
      at = behind;
    }
    return at;
  }
  // End of \s+(?!\S)|\s+ at a white space: the run, without its last character if more text and more than it follow.
  size_t blanks(size_t at) const {
    const size_t end = run(at, kSpace);
    if (ends(end)) return end;
    size_t last = end;
    (void)previous_char(text_, last);
    return last > at ? last : end;
  }
  // End of 's|'t|'re|'ve|'m|'ll|'d; `at` when there is none. Without regard to case, U+017F is an s.
  size_t contraction(size_t at, bool any_case) const {
    if (byte(at) != '\'') return at;
    const auto letter = [&](size_t i) { return any_case && byte(i) >= 'A' && byte(i) <= 'Z' ? byte(i) + 32 : byte(i); };
    switch (letter(at + 1)) {
      case 's':
      case 't':
      case 'm':
      case 'd':
        return at + 2;
      case 'r':
      case 'v':
        return letter(at + 2) == 'e' ? at + 3 : at;
      case 'l':
        return letter(at + 2) == 'l' ? at + 3 : at;
      default:
        return any_case && text_.substr(at + 1, 2) == "\u017F" ? at + 3 : at;
    }
  }

 private:
  std::string_view text_;
  const CharTable& table_ = char_table();
};

// Expressions that match somewhere at every position: every character belongs to a match.
template <size_t (*kEnd)(const Scanner& scan, size_t at)>
class Cover : public Pattern {
 public:
  bool next(std::string_view text, size_t at, size_t& from, size_t& to) const override {
    if (at >= text.size()) return false;
    from = at;
    to = kEnd(Scanner(text), at);
    return true;
  }
};

constexpr unsigned kAnyGroup = kSpace | kLetter | kNumber;

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t gpt2_end(const Scanner& scan, size_t at) {
  if (const size_t end = scan.contraction(at, false); end > at) return end;
  const size_t word = at + (scan.byte(at) == ' ');
  if (scan.is(word, kLetter)) return scan.run(word, kLetter);
  if (scan.is(word, kNumber)) return scan.run(word, kNumber);
  if (!scan.ends(word) && !scan.is(word, kSpace)) return scan.run(word, kAnyGroup, false);
  return scan.blanks(at);
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,kDigits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
template <size_t kDigits>
size_t llama_end(const Scanner& scan, size_t at) {
  if (const size_t end = scan.contraction(at, true); end > at) return end;
  if (scan.is(at, kNumber)) return scan.run(at, kNumber, true, kDigits);
  const size_t word = scan.is(at, kLetter) || scan.is_break(at) ? at : scan.after(at);
  if (scan.is(word, kLetter)) return scan.run(word, kLetter);
  const size_t sign = at + (scan.byte(at) == ' ');
  if (!scan.ends(sign) && !scan.is(sign, kAnyGroup)) {
    size_t end = scan.run(sign, kAnyGroup, false);
    while (scan.is_break(end)) ++end;
    return end;
  }
  const size_t end = scan.run(at, kSpace);
  for (size_t line = end; line > at; --line) {
    if (scan.is_break(line - 1)) return line;
  }
  return scan.blanks(at);
}

// Runs of characters that kFirst accepts, where a match may begin at any of them.
template <size_t (*kEnd)(const Scanner& scan, size_t at)>
class Search : public Pattern {
 public:
  bool next(std::string_view text, size_t at, size_t& from, size_t& to) const override {
    const Scanner scan(text);
    for (from = at; from < text.size(); from = scan.after(from)) {
      to = kEnd(scan, from);
      if (to > from) return true;
    }
    return false;
  }
};
size_t spaces_end(const Scanner& scan, size_t at) { return scan.run(at, kSpace); }
size_t words_end(const Scanner& scan, size_t at) {
  return scan.is(at, kWord) ? scan.run(at, kWord) : scan.run(at, kWord | kSpace, false);
}
size_t two_blanks_end(const Scanner& scan, size_t at) {
  size_t end = at;
  while (scan.byte(end) == ' ') ++end;
  return end >= at + 2 ? end : at;
}
size_t line_breaks_end(const Scanner& scan, size_t at) {
  while (scan.is_break(at)) ++at;
  return at;
}

class Class : public Pattern {
 public:
  explicit Class(unsigned classes) : classes_(classes) {}
  bool next(std::string_view text, size_t at, size_t& from, size_t& to) const override {
    for (to = at; to < text.size();) {
      from = to;
      if (table_.is(next_char(text, to), classes_)) return true;
    }
    return false;
  }

 private:
  unsigned classes_;
  const CharTable& table_ = char_table();
};

struct Expression {
  const char* text;
  std::unique_ptr<Pattern> (*make)();
};
template <class T>
std::unique_ptr<Pattern> make() {
  return std::make_unique<T>();
}
template <unsigned kClasses>
std::unique_ptr<Pattern> make_class() {
  return std::make_unique<Class>(kClasses);
}
constexpr Expression kExpressions[] = {
    // GPT-2, RoBERTa, ModernBERT; and the same as newer files write it.
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", make<Cover<gpt2_end>>},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", make<Cover<gpt2_end>>},
    // Qwen.
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     make<Cover<llama_end<1>>>},
    // Llama 3 and cl100k; the possessive form matches the same.
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     make<Cover<llama_end<3>>>},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)",
     make<Cover<llama_end<3>>>},
    {R"(\s+)", make<Search<spaces_end>>},
    {R"(\s)", make_class<kSpace>},
    {R"( {2,})", make<Search<two_blanks_end>>},
    {R"([\r\n]+)", make<Search<line_breaks_end>>},
    {R"(\p{N})", make_class<kNumber>},
};

}  // namespace

std::unique_ptr<Pattern> make_literal_pattern(std::string literal) { return std::make_unique<Literal>(std::move(literal)); }
std::unique_ptr<Pattern> make_class_pattern(unsigned classes) { return std::make_unique<Class>(classes); }
std::unique_ptr<Pattern> make_gpt2_pattern() { return std::make_unique<Cover<gpt2_end>>(); }
std::unique_ptr<Pattern> make_words_pattern() { return std::make_unique<Search<words_end>>(); }

std::unique_ptr<Pattern> read_pattern(const Json& json) {
  if (const Json literal = json.find("String")) {
    if (literal.string().empty()) fail(Code::kUnsupported, literal.where(), ": an empty pattern");
    return make_literal_pattern(std::string(literal.string()));
  }
  const Json regex = json.at("Regex");
  for (const Expression& known : kExpressions) {
    if (regex.string() == known.text) return known.make();
  }
  fail(Code::kUnsupported, regex.where(), ": the regular expression ", regex.describe(), " is not known");
}

}  // namespace v0
}  // namespace saccade
