#include "runtime/model/tokenizer/token_model.h"

#include "runtime/graph/check.h"

namespace saccade {
inline namespace v0 {
namespace {

Vocabulary read_vocabulary(const Json& json) {
  std::vector<std::pair<std::string_view, int64_t>> entries;
  for (const auto& [token, id] : json.members()) entries.emplace_back(token, id.integer(0, INT32_MAX));
  return Vocabulary(entries, json.where());
}

std::unique_ptr<TokenModel> read_wordpiece(const Json& json) {
  WordPieceOptions options;
  options.unk_token = json.string_or("unk_token", options.unk_token);
  options.continuing_subword_prefix = json.string_or("continuing_subword_prefix", options.continuing_subword_prefix);
  options.max_input_chars_per_word = json.integer_or("max_input_chars_per_word", 100, 0, INT32_MAX);
  return make_wordpiece(read_vocabulary(json.at("vocab")), options, json.where());
}

std::unique_ptr<TokenModel> read_bpe(const Json& json) {
  if (const double dropout = json.number_or("dropout", 0); dropout != 0) {
    fail(Code::kUnsupported, json.where(), ": dropout ", json.at("dropout").describe(), ": ids would be random");
  }
  BpeOptions options;
  options.unk_token = json.string_or("unk_token", "");
  options.continuing_subword_prefix = json.string_or("continuing_subword_prefix", "");
  options.end_of_word_suffix = json.string_or("end_of_word_suffix", "");
  options.fuse_unk = json.boolean_or("fuse_unk", false);
  options.byte_fallback = json.boolean_or("byte_fallback", false);
  options.ignore_merges = json.boolean_or("ignore_merges", false);
  std::vector<MergePair> merges;
  for (const Json& merge : json.at("merges").elements()) {
    if (merge.is_array()) {
      const std::vector<Json> both = merge.elements();
      if (both.size() != 2) fail(Code::kCorruptData, merge.where(), ": expected two tokens, found ", both.size());
      merges.emplace_back(both[0].string(), both[1].string());
    } else {
      const std::string_view both = merge.string();
      const size_t blank = both.find(' ');
      if (blank == std::string_view::npos || both.find(' ', blank + 1) != std::string_view::npos) {
        fail(Code::kCorruptData, merge.where(), ": expected two tokens with a blank between them, found ", merge.describe());
      }
      merges.emplace_back(both.substr(0, blank), both.substr(blank + 1));
    }
  }
  return make_bpe(read_vocabulary(json.at("vocab")), merges, options, json.where());
}

std::unique_ptr<TokenModel> read_unigram(const Json& json) {
  std::vector<std::pair<std::string_view, int64_t>> entries;
  std::vector<double> scores;
  for (const Json& element : json.at("vocab").elements()) {
    const std::vector<Json> both = element.elements();
    if (both.size() != 2)
      fail(Code::kCorruptData, element.where(), ": expected a piece and its score, found ", both.size(), " values");
    entries.emplace_back(both[0].string(), static_cast<int64_t>(scores.size()));
    scores.push_back(both[1].number());
  }
  const Json unknown = json.find("unk_id");
  const auto unk_id = unknown ? static_cast<int32_t>(unknown.integer(0, static_cast<int64_t>(scores.size()) - 1)) : Trie::kNone;
  return make_unigram(Vocabulary(entries, json.where()), std::move(scores), unk_id, json.boolean_or("byte_fallback", false),
                      json.where());
}

}  // namespace

std::unique_ptr<TokenModel> read_token_model(const Json& json) {
  std::string type = json.string_or("type", "");
  if (type.empty()) {  // older files do not say; their keys do
    if (json.find("merges")) {
      type = "BPE";
    } else if (json.find("max_input_chars_per_word")) {
      type = "WordPiece";
    } else if (json.at("vocab").is_array()) {
      type = "Unigram";
    }
  }
  if (type == "WordPiece") return read_wordpiece(json);
  if (type == "BPE") return read_bpe(json);
  if (type == "Unigram") return read_unigram(json);
  fail(Code::kUnsupported, json.where(), ": the model type \"", type.substr(0, 100), "\" is not known");
}

}  // namespace v0
}  // namespace saccade
