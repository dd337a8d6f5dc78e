// Which files decide, and tokenizer.json.
#include <iterator>

#include "runtime/graph/check.h"
#include "runtime/model/files.h"
#include "runtime/model/tokenizer/data.h"

namespace saccade {
inline namespace v0 {

TokenizerParts parse_tokenizer_json(const Json& root, const std::string& name) {
  TokenizerParts parts;
  parts.normalizer = read_normalizer(root.find("normalizer"));
  parts.pre_tokenizer = read_pre_tokenizer(root.find("pre_tokenizer"));
  parts.model = read_token_model(root.at("model"));
  const Json added = root.find("added_tokens");
  parts.added = AddedTokens(read_added_tokens(added), parts.model->vocabulary(), parts.normalizer.get(), name + ": added_tokens");
  parts.post_processor = read_post_processor(root.find("post_processor"));
  return parts;
}

namespace {

TokenizerParts load_tokenizer_json(const std::string& directory) {
  const auto document = JsonDocument::read(join_path(directory, "tokenizer.json"));
  return parse_tokenizer_json(document.root(), document.name());
}

struct Source {
  const char* file;
  TokenizerParts (*load)(const std::string& directory);
};
constexpr Source kSources[] = {
    // the first that is there decides
    {"tokenizer.json", load_tokenizer_json},
    {"vocab.txt", load_vocab_txt},
    {"vocab.json", load_vocab_and_merges},
    {"sentencepiece.bpe.model", load_sentencepiece},
};

}  // namespace

TokenizerParts load_tokenizer_parts(const std::string& directory) {
  require_directory(directory);
  for (const Source& source : kSources) {
    const std::string path = join_path(directory, source.file);
    if (!exists(path)) continue;
    TokenizerParts parts = source.load(directory);
    parts.source = source.file;
    return parts;
  }
  fail(Code::kNotFound, directory, ": no tokenizer: expected tokenizer.json, vocab.txt, vocab.json or sentencepiece.bpe.model");
}

}  // namespace v0
}  // namespace saccade
