// sentencepiece.bpe.model: any bytes are refused with a Status, or make a tokenizer that works.
#include "runtime/graph/check.h"
#include "runtime/model/tokenizer/data.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace saccade;
  const Status status = caught([&] {
    const Tokenizer::Data tokenizer(read_sentencepiece({reinterpret_cast<const char*>(data), size}, "sentencepiece.bpe.model"));
    Tokens tokens;
    tokenizer.encode("Hello, wor1d \u00e9\u4e2d\ufb01 <mask>", nullptr, {}, tokens);
    for (const int32_t id : tokens.ids) {
      if (id < 0 || id >= tokenizer.parts.model->vocabulary().size()) __builtin_trap();
    }
  });
  if (status.code() == Code::kInternal) __builtin_trap();
  return 0;
}
