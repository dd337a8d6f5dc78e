#include "runtime/model/tokenizer/normalizers.h"

#include <array>
#include <utility>

#include "runtime/graph/check.h"
#include "runtime/model/tokenizer/patterns.h"
#include "runtime/model/tokenizer/unicode.h"
#include "runtime/model/tokenizer/utf8.h"

namespace saccade {
inline namespace v0 {
namespace {

// Keeps the characters for which keep(c) holds.
template <class Keep>
void filter(NormalizedText& text, Keep&& keep) {
  for (size_t at = 0; at < text.text.size();) {
    const size_t from = at;
    if (keep(next_char(text.text, at))) {
      text.out.append(text.text, from, at - from);
    } else if (text.out.empty()) {
      text.at_start = false;
    }
  }
  text.take_out();
}

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const BertOptions& options) : options_(options) {
    for (char32_t c = 0; c < 0x80; ++c) {
      ascii_[c] = static_cast<char>(c);
      if (options.clean_text && table_.is(c, kControl)) ascii_[c] = kDropped;
      if (options.clean_text && table_.is(c, kSpace) && !table_.is(c, kControl)) ascii_[c] = ' ';
      if (options.lowercase && c >= 'A' && c <= 'Z') ascii_[c] = static_cast<char>(c + 32);
    }
  }

  // ASCII goes through a table. What lies between goes through the steps of its own: ASCII characters are starters of the normal
  // form and nothing here composes.
  void apply(NormalizedText& text) const override {
    const std::string& in = text.text;
    text.out.resize(in.size());
    char* out = text.out.data();
    size_t at = 0, written = 0;
    std::string part, spare;
    while (true) {
      for (; at < in.size() && static_cast<unsigned char>(in[at]) < 0x80; ++at) {
        const char c = ascii_[static_cast<unsigned char>(in[at])];
        out[written] = c;
        written += c != kDropped;
        if (written == 0) text.at_start = false;
      }
      if (at == in.size()) break;
      const size_t from = at;
      while (at < in.size() && static_cast<unsigned char>(in[at]) >= 0x80) ++at;
      normalize(std::string_view(in).substr(from, at - from), part, spare, text);
      if (written == 0 && part.empty()) text.at_start = false;
      text.out.resize(written + part.size() + (in.size() - at));
      out = text.out.data();
      part.copy(out + written, part.size());
      written += part.size();
    }
    text.out.resize(written);
    text.take_out();
  }

 private:
  static constexpr char kDropped = static_cast<char>(0xFF);  // no UTF-8 byte

  void normalize(std::string_view in, std::string& part, std::string& spare, NormalizedText& text) const {
    part.clear();
    for (size_t at = 0; at < in.size();) {
      const size_t from = at;
      const char32_t c = next_char(in, at);
      const unsigned classes = table_[c];
      if (options_.clean_text && (classes & kControl) != 0) continue;
      const bool apart = options_.handle_chinese_chars && (classes & kChinese) != 0;
      if (apart || (options_.clean_text && (classes & kSpace) != 0)) part += ' ';
      if (apart || !(options_.clean_text && (classes & kSpace) != 0)) part += in.substr(from, at - from);
      if (apart) part += ' ';
    }
    if (options_.strip_accents) {
      spare.clear();
      append_normalized(part, NormalForm::kNfd, text.characters, spare);
      part.clear();
      for (size_t at = 0; at < spare.size();) {
        const size_t from = at;
        if (!table_.is(next_char(spare, at), kNonspacing)) part.append(spare, from, at - from);
      }
    }
    if (options_.lowercase) {
      spare.clear();
      for (size_t at = 0; at < part.size();) append_lowercase(next_char(part, at), spare);
      part.swap(spare);
    }
  }

  BertOptions options_;
  const CharTable& table_ = char_table();
  std::array<char, 128> ascii_;
};

class Lowercase : public Normalizer {
 public:
  void apply(NormalizedText& text) const override {
    for (size_t at = 0; at < text.text.size();) append_lowercase(next_char(text.text, at), text.out);
    text.take_out();
  }
};

class StripAccents : public Normalizer {
 public:
  void apply(NormalizedText& text) const override {
    filter(text, [&](char32_t c) { return !table_.is(c, kMark); });
  }

 private:
  const CharTable& table_ = char_table();
};

class Form : public Normalizer {
 public:
  explicit Form(NormalForm form) : form_(form) {}
  void apply(NormalizedText& text) const override {
    append_normalized(text.text, form_, text.characters, text.out);
    text.take_out();
  }

 private:
  NormalForm form_;
};

class Charsmap : public Normalizer {
 public:
  explicit Charsmap(CharsMap map) : map_(std::move(map)) {}
  void apply(NormalizedText& text) const override {
    map_.append_mapped(text.text, text.out);
    text.take_out();
  }

 private:
  CharsMap map_;
};

class Replace : public Normalizer {
 public:
  Replace(std::unique_ptr<Pattern> pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(NormalizedText& text) const override {
    size_t at = 0, from = 0, to = 0;
    while (pattern_->next(text.text, at, from, to)) {
      text.out.append(text.text, at, from - at);
      text.out += content_;
      at = to;
    }
    text.out.append(text.text, at);
    text.take_out();
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void apply(NormalizedText& text) const override {
    size_t from = 0, to = text.text.size();
    for (size_t at = from; left_ && at < to && table_.is(next_char(text.text, at), kSpace);) from = at;
    for (size_t at = to; right_ && at > from && table_.is(previous_char(text.text, at), kSpace);) to = at;
    if (from > 0) text.at_start = false;
    text.out.append(text.text, from, to - from);
    text.take_out();
  }

 private:
  bool left_, right_;
  const CharTable& table_ = char_table();
};

class PrependText : public Normalizer {
 public:
  explicit PrependText(std::string prefix) : prefix_(std::move(prefix)) {}
  void apply(NormalizedText& text) const override {
    if (!text.text.empty()) text.text.insert(0, prefix_);
  }

 private:
  std::string prefix_;
};

// sentencepiece's older rules for machine translation.
class Nmt : public Normalizer {
 public:
  void apply(NormalizedText& text) const override {
    filter(text, [](char32_t c) {
      return !((c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F);
    });
    for (size_t at = 0; at < text.text.size();) {
      const size_t from = at;
      const char32_t c = next_char(text.text, at);
      const bool blank = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
                         c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
      if (blank) {
        text.out += ' ';
      } else {
        text.out.append(text.text, from, at - from);
      }
    }
    text.take_out();
  }
};

class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<Normalizer>> steps) : steps_(std::move(steps)) {}
  void apply(NormalizedText& text) const override {
    for (const auto& step : steps_) step->apply(text);
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

BertOptions bert_options(const Json& json) {
  BertOptions options;
  options.clean_text = json.at("clean_text").boolean();
  options.handle_chinese_chars = json.at("handle_chinese_chars").boolean();
  options.lowercase = json.at("lowercase").boolean();
  options.strip_accents = json.boolean_or("strip_accents", options.lowercase);
  return options;
}

std::unique_ptr<Normalizer> read_normalizer_sequence(const Json& json, int depth);

struct NormalizerKind {
  const char* type;
  std::unique_ptr<Normalizer> (*make)(const Json& json);
};
template <NormalForm kForm>
std::unique_ptr<Normalizer> make_form(const Json&) {
  return std::make_unique<Form>(kForm);
}
constexpr NormalizerKind kNormalizers[] = {
    {"BertNormalizer", [](const Json& json) { return make_bert_normalizer(bert_options(json)); }},
    {"Lowercase", [](const Json&) -> std::unique_ptr<Normalizer> { return std::make_unique<Lowercase>(); }},
    {"Nmt", [](const Json&) -> std::unique_ptr<Normalizer> { return std::make_unique<Nmt>(); }},
    {"NFC", make_form<NormalForm::kNfc>},
    {"NFD", make_form<NormalForm::kNfd>},
    {"NFKC", make_form<NormalForm::kNfkc>},
    {"NFKD", make_form<NormalForm::kNfkd>},
    {"Precompiled",
     [](const Json& json) -> std::unique_ptr<Normalizer> {
       const Json map = json.find("precompiled_charsmap");
       if (!map) return nullptr;  // none: the text stays as it is
       return make_charsmap_normalizer(CharsMap(from_base64(map.string(), map.where()), map.where()));
     }},
    {"Prepend",
     [](const Json& json) -> std::unique_ptr<Normalizer> {
       return std::make_unique<PrependText>(std::string(json.at("prepend").string()));
     }},
    {"Replace",
     [](const Json& json) -> std::unique_ptr<Normalizer> {
       return std::make_unique<Replace>(read_pattern(json.at("pattern")), std::string(json.at("content").string()));
     }},
    {"Strip",
     [](const Json& json) -> std::unique_ptr<Normalizer> {
       return std::make_unique<Strip>(json.at("strip_left").boolean(), json.at("strip_right").boolean());
     }},
    {"StripAccents", [](const Json&) -> std::unique_ptr<Normalizer> { return std::make_unique<StripAccents>(); }},
};

std::unique_ptr<Normalizer> read_nested_normalizer(const Json& json, int depth) {
  if (!json) return nullptr;
  const std::string_view type = json.at("type").string();
  if (type == "Sequence") return read_normalizer_sequence(json, depth);
  for (const NormalizerKind& kind : kNormalizers) {
    if (type == kind.type) return kind.make(json);
  }
  fail(Code::kUnsupported, json.where(), ": the normalizer ", json.at("type").describe(), " is not known");
}

std::unique_ptr<Normalizer> read_normalizer_sequence(const Json& json, int depth) {
  constexpr int kDeepest = 8;  // published files nest once
  if (depth == kDeepest) fail(Code::kUnsupported, json.where(), ": sequences nested more than ", kDeepest, " deep");
  std::vector<std::unique_ptr<Normalizer>> steps;
  for (const Json& step : json.at("normalizers").elements()) steps.push_back(read_nested_normalizer(step, depth + 1));
  return make_sequence(std::move(steps));
}

}  // namespace

std::unique_ptr<Normalizer> make_bert_normalizer(const BertOptions& options) { return std::make_unique<BertNormalizer>(options); }
std::unique_ptr<Normalizer> make_charsmap_normalizer(CharsMap map) { return std::make_unique<Charsmap>(std::move(map)); }
std::unique_ptr<Normalizer> make_sequence(std::vector<std::unique_ptr<Normalizer>> steps) {
  std::erase(steps, nullptr);
  return std::make_unique<NormalizerSequence>(std::move(steps));
}

std::unique_ptr<Normalizer> read_normalizer(const Json& json) { return read_nested_normalizer(json, 0); }

}  // namespace v0
}  // namespace saccade
