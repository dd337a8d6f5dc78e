// Any bytes are text for tokenizers of every kind: each gives ids of its vocabulary, the same ones when asked again and when the
// text is repaired first, and cutting keeps the limit. The first byte chooses the tokenizer.
#include <algorithm>
#include <memory>

#include "runtime/graph/check.h"
#include "runtime/model/tokenizer/data.h"
#include "runtime/model/tokenizer/utf8.h"

namespace {

using namespace saccade;

constexpr const char* kDocuments[] = {
    R"({"added_tokens": [{"id": 0, "content": "[UNK]", "special": true}, {"id": 1, "content": "[SEP]", "special": true,
        "lstrip": true}], "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
        "strip_accents": null, "lowercase": true}, "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor":
        {"type": "BertProcessing", "sep": ["[SEP]", 1], "cls": ["[UNK]", 0]}, "model": {"type": "WordPiece",
        "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9, "vocab": {"[UNK]": 0,
        "[SEP]": 1, "a": 2, "##a": 3, "ab": 4, "##b": 5, "e": 6, "中": 7, ".": 8, "##ab": 9}}})",
    R"({"added_tokens": [{"id": 11, "content": "  ", "special": false, "normalized": true, "single_word": true}, {"id":
        12, "content": "<m>", "special": true, "rstrip": true, "lstrip": true}], "normalizer": {"type": "Sequence",
        "normalizers": [{"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "  "}]},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "unk_token": "u", "fuse_unk": true, "merges": ["a b", "Ġ a", "Ã ©", "Ġ ab", "ab ab"],
        "vocab": {"u": 0, "a": 1, "b": 2, "ab": 3, "Ġ": 4, "Ġa": 5, "Ã": 6, "©": 7, "Ã©": 8, "Ġab": 9, "abab": 10}}})",
    R"({"normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"}, {"type": "Strip",
        "strip_left": true, "strip_right": true}, {"type": "Prepend", "prepend": "_"}, {"type": "Lowercase"}, {"type":
        "StripAccents"}]}, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Punctuation", "behavior":
        "Contiguous"}, {"type": "Digits", "individual_digits": true}, {"type": "Metaspace", "replacement": "▁",
        "prepend_scheme": "first"}]}, "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": true, "vocab":
        [["<unk>", 0], ["▁", -2], ["a", -3], ["ab", -3.5], ["▁a", -4], ["<0xC3>", -9], ["<0xA9>", -9], ["中", -5], ["ba",
        -3.25]]}})",
    (R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "behavior": "Isolated", "invert":
        false, "pattern": {"Regex":
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+)"
     R"(|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
        {"type": "Split", "behavior": "MergedWithNext", "invert": true, "pattern": {"Regex": "\\s+"}},
        {"type": "Split", "behavior": "MergedWithPrevious", "invert": false, "pattern": {"String": "a"}}]}, "model":
        {"type": "BPE", "unk_token": "u", "continuing_subword_prefix": "#", "end_of_word_suffix": "$", "byte_fallback":
        true, "merges": [["a", "#b"], ["ab", "#a$"]], "vocab": {"u": 0, "a": 1, "#b": 2, "ab": 3, "#a$": 4, "aba$": 5,
        "<0x0A>": 6}}})"),
};

const Tokenizer::Data& tokenizer(size_t index) {
  static std::unique_ptr<const Tokenizer::Data> made[std::size(kDocuments)];
  if (!made[index]) {
    const JsonDocument document("tokenizer.json", kDocuments[index]);
    made[index] = std::make_unique<const Tokenizer::Data>(parse_tokenizer_json(document.root(), document.name()));
  }
  return *made[index];
}

void require_that(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const Status status = caught([&] {
    const Tokenizer::Data& data = tokenizer(bytes[0] % std::size(kDocuments));
    const int32_t limit = std::max(data.parts.model->vocabulary().size(), data.parts.added.size());
    Tokens tokens, again;
    data.encode(text, nullptr, {}, tokens);
    for (const int32_t id : tokens.ids) require_that(id >= 0 && id < limit);
    const std::string good = repaired(text);
    require_that(well_formed(good) && well_formed(text) == (good == text));
    data.encode(good, nullptr, {}, again);
    require_that(again.ids == tokens.ids);
    const std::string_view second = text.substr(text.size() / 3);
    data.encode(text, &second, {.max_length = 7, .truncate = true}, tokens);
    require_that(tokens.ids.size() <= 7 && tokens.type_ids.size() == tokens.ids.size() &&
                 tokens.special.size() == tokens.ids.size());
  });
  require_that(status.ok());
  return 0;
}
