// tokenizer.json: any bytes are refused with a Status, or make a tokenizer whose ids are inside its vocabulary.
#include <algorithm>

#include "runtime/graph/check.h"
#include "runtime/model/tokenizer/data.h"

namespace {

using namespace saccade;

void use(TokenizerParts parts) {
  const Tokenizer::Data data(std::move(parts));
  const int32_t limit = std::max(data.parts.model->vocabulary().size(), data.parts.added.size());
  for (const std::string_view text :
       {"Hello, wor1d! it's  [MASK]<mask>\n", "\u00e9e\u0301\u4e2d\ufb01\u2581\U0001F469\u200d\U0001F4BB", "\xff\xc3(", ""}) {
    Tokens tokens;
    const Status status = caught([&] {
      TokenizerScratch scratch;
      std::vector<int32_t> ids;
      data.encode(text, scratch, SIZE_MAX, ids);
      for (const int32_t id : ids) {
        if (id < 0 || id >= limit) __builtin_trap();
      }
      data.encode(text, &text, {.max_length = 9, .truncate = true}, tokens);
    });
    if (status.code() == Code::kInternal) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Status status = caught([&] {
    const JsonDocument document("tokenizer.json", {reinterpret_cast<const char*>(data), size});
    use(parse_tokenizer_json(document.root(), document.name()));
  });
  if (status.code() == Code::kInternal) __builtin_trap();
  return 0;
}
