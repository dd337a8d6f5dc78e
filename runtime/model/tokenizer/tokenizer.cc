#include "saccade/tokenizer.h"

#include <algorithm>

#include "runtime/graph/check.h"
#include "runtime/model/tokenizer/data.h"
#include "runtime/model/tokenizer/utf8.h"

namespace saccade {
inline namespace v0 {

void Tokenizer::Data::encode(std::string_view text, TokenizerScratch& scratch, size_t enough, std::vector<int32_t>& ids) const {
  ids.clear();
  if (!well_formed(text)) text = scratch.repaired = repaired(text);
  scratch.given.clear();
  parts.added.as_given().cut(text, scratch.given);
  for (const TextPart& given : scratch.given) {
    if (ids.size() >= enough) return;
    if (given.id != TextPart::kText) {
      ids.push_back(given.id);
      continue;
    }
    NormalizedText& normalized = scratch.text;
    normalized.assign(text.substr(given.from, given.to - given.from), given.from == 0);
    if (parts.normalizer) parts.normalizer->apply(normalized);
    scratch.normal.clear();
    parts.added.normalized().cut(normalized.text, scratch.normal);
    for (const TextPart& part : scratch.normal) {
      if (part.id != TextPart::kText) {
        ids.push_back(part.id);
        continue;
      }
      Words& words = scratch.words;
      words.assign(std::string_view(normalized.text).substr(part.from, part.to - part.from),
                   normalized.at_start && part.from == 0);
      if (parts.pre_tokenizer) parts.pre_tokenizer->apply(words);
      for (const Word& word : words.words) {
        if (ids.size() >= enough) return;
        parts.model->encode(words.view(word), scratch.model, ids);
      }
    }
  }
}

void Tokenizer::Data::encode(std::string_view first, const std::string_view* second, const TokenizeOptions& options,
                             Tokens& tokens) const {
  require(options.max_length >= 0, "tokenize: max_length ", options.max_length, " is negative");
  auto scratch = borrow();
  // Of one text that is cut, what comes behind the limit is not needed. How a pair is cut depends on both lengths.
  const bool cut = options.truncate && options.max_length > 0 && second == nullptr;
  encode(first, *scratch, cut ? static_cast<size_t>(options.max_length) + 1 : SIZE_MAX, scratch->first);
  if (second != nullptr) encode(*second, *scratch, SIZE_MAX, scratch->second);
  parts.post_processor.assemble(scratch->first, second != nullptr ? &scratch->second : nullptr, options, tokens);
  // What a giant text left behind is not kept.
  constexpr size_t kKept = 1 << 20;
  if (first.size() + (second != nullptr ? second->size() : 0) <= kKept) give_back(std::move(scratch));
}

std::unique_ptr<TokenizerScratch> Tokenizer::Data::borrow() const {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::make_unique<TokenizerScratch>();
  auto scratch = std::move(free_.back());
  free_.pop_back();
  return scratch;
}
void Tokenizer::Data::give_back(std::unique_ptr<TokenizerScratch> scratch) const {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(scratch));
}

Result<Tokenizer> Tokenizer::load(const std::string& directory) {
  std::shared_ptr<const Data> data;
  const Status status = caught([&] { data = std::make_shared<const Data>(load_tokenizer_parts(directory)); });
  if (!status.ok()) return status;
  return Tokenizer(std::move(data));
}

Status Tokenizer::encode(std::string_view text, const TokenizeOptions& options, Tokens& tokens) const {
  return caught([&] { data_->encode(text, nullptr, options, tokens); });
}
Status Tokenizer::encode_pair(std::string_view first, std::string_view second, const TokenizeOptions& options,
                              Tokens& tokens) const {
  return caught([&] { data_->encode(first, &second, options, tokens); });
}

int64_t Tokenizer::vocabulary_size() const {
  return std::max(data_->parts.model->vocabulary().size(), data_->parts.added.size());
}

std::optional<int32_t> Tokenizer::id(std::string_view token) const {
  if (const AddedToken* added = data_->parts.added.find(token)) return added->id;
  const int32_t id = data_->parts.model->vocabulary().id(token);
  if (id == Trie::kNone) return std::nullopt;
  return id;
}

std::string_view Tokenizer::token(int32_t id) const {
  if (const AddedToken* added = data_->parts.added.find(id)) return added->content;
  return data_->parts.model->vocabulary().token(id);
}

int64_t Tokenizer::special_token_count(bool pair) const { return data_->parts.post_processor.special_count(pair); }
const std::string& Tokenizer::model() const { return data_->parts.model->name(); }
const std::string& Tokenizer::source() const { return data_->parts.source; }

}  // namespace v0
}  // namespace saccade
