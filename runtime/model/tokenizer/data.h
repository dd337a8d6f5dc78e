// What a Tokenizer holds, and where it comes from.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/tokenizer/added_tokens.h"
#include "runtime/model/tokenizer/normalizers.h"
#include "runtime/model/tokenizer/post_processor.h"
#include "runtime/model/tokenizer/pre_tokenizers.h"
#include "runtime/model/tokenizer/token_model.h"
#include "saccade/tokenizer.h"

namespace saccade {
inline namespace v0 {

struct TokenizerParts {
  std::unique_ptr<Normalizer> normalizer;       // null: the text as it is
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // null: the text is one word
  std::unique_ptr<TokenModel> model;
  AddedTokens added;
  PostProcessor post_processor;
  std::string source;  // the file that decided
};

// From the files that the directory has; not_found lists those that would do.
TokenizerParts load_tokenizer_parts(const std::string& directory);

// From a tokenizer.json, named `name` in messages.
TokenizerParts parse_tokenizer_json(const Json& root, const std::string& name);

// Without tokenizer.json: vocab.txt (WordPiece as BERT's), vocab.json with merges.txt (BPE as RoBERTa's or GPT-2's), a
// sentencepiece model (Unigram as XLM-R's).
TokenizerParts load_vocab_txt(const std::string& directory);
TokenizerParts load_vocab_and_merges(const std::string& directory);
TokenizerParts load_sentencepiece(const std::string& directory);
TokenizerParts read_sentencepiece(std::string_view content, const std::string& file);  // its bytes, its name in messages

// What a call needs besides the tokenizer; borrowed, so that calls of any thread reuse it.
struct TokenizerScratch {
  std::string repaired;
  std::vector<TextPart> given, normal;
  NormalizedText text;
  Words words;
  ModelScratch model;
  std::vector<int32_t> first, second;
};

struct Tokenizer::Data {
  explicit Data(TokenizerParts from) : parts(std::move(from)) {}

  // Ids of one text, without those of the post-processor; no further than until there are `enough`.
  void encode(std::string_view text, TokenizerScratch& scratch, size_t enough, std::vector<int32_t>& ids) const;
  // Both texts (`second` may be null), with a scratch that is given back.
  void encode(std::string_view first, const std::string_view* second, const TokenizeOptions& options, Tokens& tokens) const;

  TokenizerParts parts;

 private:
  std::unique_ptr<TokenizerScratch> borrow() const;
  void give_back(std::unique_ptr<TokenizerScratch> scratch) const;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<TokenizerScratch>> free_;  // at most one per call that ran at the same time
};

}  // namespace v0
}  // namespace saccade
