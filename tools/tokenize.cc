// saccade tokenize: the tokens of each text, special ones included.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "tools/console.h"
#include "tools/model.h"

namespace saccade::tool {

int run_tokenize(const TextOptions& options) {
  TextReader reader(options);
  const Tokenizer tokenizer = load_tokenizer(options);
  Json all = Json::array();
  Tokens tokens;
  for (std::string text; reader.next(text);) {
    check(tokenizer.encode(text, {}, tokens));
    if (options.json) {
      Json pieces = Json::array();
      for (const int32_t id : tokens.ids) pieces.push_back(std::string(tokenizer.token(id)));
      all.push_back({{"ids", tokens.ids}, {"tokens", pieces}, {"type_ids", tokens.type_ids}, {"special", tokens.special}});
      continue;
    }
    const char* separator = "";
    for (const int32_t id : tokens.ids) {
      fmt::print("{}{}:{}", separator, id, printable(tokenizer.token(id)));
      separator = " ";
    }
    fmt::print("\n");
  }
  if (options.json)
    print_envelope("tokenize", {{"tokenizer", tokenizer.model()}, {"source", tokenizer.source()}, {"texts", all}});
  return kDone;
}

}  // namespace saccade::tool
