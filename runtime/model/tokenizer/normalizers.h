// Normalizers of tokenizer.json: text in, text out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/json.h"
#include "runtime/model/tokenizer/charsmap.h"

namespace saccade {
inline namespace v0 {

// A text on its way through the normalizers. Every step writes `out` from `text` and swaps them.
struct NormalizedText {
  std::string text, out;
  std::vector<int32_t> characters;  // scratch of the normal forms
  // Whether the first character of the text still is, or stems from, the first one of what the caller gave: Metaspace's
  // "first" asks for it.
  bool at_start = true;

  void assign(std::string_view from, bool starts) {
    text = from;
    at_start = starts;
  }
  void take_out() {
    text.swap(out);
    out.clear();
  }
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(NormalizedText& text) const = 0;
};

struct BertOptions {
  bool clean_text = true;            // drop control characters, make white space a blank
  bool handle_chinese_chars = true;  // blanks around CJK ideographs
  bool strip_accents = true;         // NFD without nonspacing marks
  bool lowercase = true;
};
std::unique_ptr<Normalizer> make_bert_normalizer(const BertOptions& options);
std::unique_ptr<Normalizer> make_charsmap_normalizer(CharsMap map);
// One after the other; a null one is left out.
std::unique_ptr<Normalizer> make_sequence(std::vector<std::unique_ptr<Normalizer>> steps);

// From the value of "normalizer"; null for an absent one. `unsupported` names a type or option that is not known.
std::unique_ptr<Normalizer> read_normalizer(const Json& json);

}  // namespace v0
}  // namespace saccade
