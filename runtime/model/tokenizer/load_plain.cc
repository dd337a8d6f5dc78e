// Directories without tokenizer.json: a vocabulary in its own format, and tokenizer_config.json for what that leaves open.
#include <algorithm>
#include <cstring>

#include "runtime/graph/check.h"
#include "runtime/model/files.h"
#include "runtime/model/tokenizer/data.h"
#include "runtime/model/tokenizer/sentencepiece.h"
#include "runtime/model/tokenizer/utf8.h"

namespace saccade {
inline namespace v0 {
namespace {

constexpr int64_t kLargestFile = int64_t{64} << 20;

// tokenizer_config.json; an empty object when it is not there.
JsonDocument read_config(const std::string& directory) {
  const std::string path = join_path(directory, "tokenizer_config.json");
  if (!exists(path)) return JsonDocument(path, "{}");
  return JsonDocument::read(path);
}

// "[SEP]", or {"content": "[SEP]", ...}.
std::string token_name(const Json& config, const char* key, const char* otherwise) {
  const Json token = config.find(key);
  if (!token) return otherwise;
  return std::string(token.is_object() ? token.at("content").string() : token.string());
}

AddedToken special(std::string content, bool lstrip = false) {
  AddedToken token;
  token.content = std::move(content);
  token.special = true;
  token.lstrip = lstrip;
  return token;
}

int32_t require_id(const Vocabulary& vocabulary, const std::string& token, const std::string& file) {
  const int32_t id = vocabulary.id(token);
  if (id == Trie::kNone) fail(Code::kCorruptData, file, ": the token \"", token, "\" is missing");
  return id;
}

std::vector<std::string_view> lines_of(std::string_view content) {
  std::vector<std::string_view> lines;
  while (!content.empty()) {
    const size_t end = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    content.remove_prefix(std::min(end + 1, content.size()));
  }
  return lines;
}

}  // namespace

TokenizerParts load_vocab_txt(const std::string& directory) {
  const std::string file = join_path(directory, "vocab.txt");
  const std::string content = read_file(file, kLargestFile);
  std::vector<std::pair<std::string_view, int64_t>> entries;
  for (const std::string_view line : lines_of(content)) entries.emplace_back(line, static_cast<int64_t>(entries.size()));
  const JsonDocument document = read_config(directory);
  const Json config = document.root();

  TokenizerParts parts;
  BertOptions bert;
  bert.lowercase = config.boolean_or("do_lower_case", true);
  bert.strip_accents = config.boolean_or("strip_accents", bert.lowercase);
  bert.handle_chinese_chars = config.boolean_or("tokenize_chinese_chars", true);
  parts.normalizer = make_bert_normalizer(bert);
  parts.pre_tokenizer = make_bert_pre_tokenizer();
  WordPieceOptions options;
  options.unk_token = token_name(config, "unk_token", "[UNK]");
  parts.model = make_wordpiece(Vocabulary(entries, file), options, file);

  // MPNet has RoBERTa's tokens: two separators between the texts, and a mask that takes the blank before it.
  const bool mpnet = config.string_or("tokenizer_class", "").starts_with("MPNet");
  const std::string cls = token_name(config, "cls_token", mpnet ? "<s>" : "[CLS]");
  const std::string sep = token_name(config, "sep_token", mpnet ? "</s>" : "[SEP]");
  const std::string pad = token_name(config, "pad_token", mpnet ? "<pad>" : "[PAD]");
  const std::string mask = token_name(config, "mask_token", mpnet ? "<mask>" : "[MASK]");
  parts.added = AddedTokens({special(options.unk_token), special(sep), special(pad), special(cls), special(mask, mpnet)},
                            parts.model->vocabulary(), parts.normalizer.get(), file);
  const int32_t cls_id = require_id(parts.model->vocabulary(), cls, file),
                sep_id = require_id(parts.model->vocabulary(), sep, file);
  parts.post_processor = mpnet ? PostProcessor::roberta(cls_id, sep_id) : PostProcessor::bert(cls_id, sep_id);
  return parts;
}

TokenizerParts load_vocab_and_merges(const std::string& directory) {
  const std::string file = join_path(directory, "vocab.json"), merges_file = join_path(directory, "merges.txt");
  const JsonDocument vocabulary = JsonDocument::read(file);
  const std::string content = read_file(merges_file, kLargestFile);
  std::vector<MergePair> merges;
  size_t number = 0;
  for (const std::string_view line : lines_of(content)) {
    ++number;
    if (line.starts_with("#version") || line.empty()) continue;
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos || line.find(' ', blank + 1) != std::string_view::npos) {
      fail(Code::kCorruptData, merges_file, ": line ", number, ": expected two tokens with a blank between them, found \"",
           line.substr(0, 100), "\"");
    }
    merges.emplace_back(line.substr(0, blank), line.substr(blank + 1));
  }
  std::vector<std::pair<std::string_view, int64_t>> entries;
  for (const auto& [token, id] : vocabulary.root().members()) entries.emplace_back(token, id.integer(0, INT32_MAX));
  const JsonDocument document = read_config(directory);
  const Json config = document.root();

  TokenizerParts parts;
  parts.pre_tokenizer = make_byte_level(config.boolean_or("add_prefix_space", false), true);
  parts.model = make_bpe(Vocabulary(entries, file), merges, {}, merges_file);
  const Vocabulary& known = parts.model->vocabulary();
  // GPT-2 has one special token and adds none; the others are RoBERTa's.
  if (known.id("<s>") == Trie::kNone && known.id("<|endoftext|>") != Trie::kNone) {
    parts.added = AddedTokens({special("<|endoftext|>")}, known, nullptr, file);
    return parts;
  }
  const std::string cls = token_name(config, "cls_token", "<s>"), sep = token_name(config, "sep_token", "</s>");
  parts.added =
      AddedTokens({special(cls), special(sep), special(token_name(config, "unk_token", "<unk>")),
                   special(token_name(config, "pad_token", "<pad>")), special(token_name(config, "mask_token", "<mask>"), true)},
                  known, nullptr, file);
  parts.post_processor = PostProcessor::roberta(require_id(known, cls, file), require_id(known, sep, file));
  return parts;
}

TokenizerParts load_sentencepiece(const std::string& directory) {
  const std::string file = join_path(directory, "sentencepiece.bpe.model");
  return read_sentencepiece(read_file(file, kLargestFile), file);
}

TokenizerParts read_sentencepiece(std::string_view content, const std::string& file) {
  const SentencePieceModel model = parse_sentencepiece(content, file);
  if (model.model_type != 1) fail(Code::kUnsupported, file, ": model type ", model.model_type, ", expected 1 (Unigram)");
  if (model.whitespace_as_suffix || !model.add_dummy_prefix || !model.remove_extra_whitespaces) {
    fail(Code::kUnsupported, file, ": expected add_dummy_prefix and remove_extra_whitespaces, and white space not as a suffix");
  }
  // XLM-R's ids: its own four tokens, then the pieces behind sentencepiece's <unk>, <s>, </s>, then <mask>.
  constexpr const char* kOwn[] = {"<unk>", "<s>", "</s>"};
  constexpr const char* kFirst[] = {"<s>", "<pad>", "</s>", "<unk>"};
  constexpr int32_t kUnknown = 3;
  std::vector<std::pair<std::string_view, int64_t>> entries;
  std::vector<double> scores;
  const auto add = [&](std::string_view piece, double score) {
    entries.emplace_back(piece, static_cast<int64_t>(entries.size()));
    scores.push_back(score);
  };
  for (const char* token : kFirst) add(token, 0);
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    if (i >= std::size(kOwn)) {
      add(model.pieces[i].text, model.pieces[i].score);
    } else if (model.pieces[i].text != kOwn[i]) {
      fail(Code::kUnsupported, file, ": piece ", i, " is \"", model.pieces[i].text.substr(0, 100), "\", expected \"", kOwn[i],
           "\"");
    }
  }
  if (model.pieces.size() < std::size(kOwn))
    fail(Code::kCorruptData, file, ": ", model.pieces.size(), " pieces, expected at least 3");
  add("<mask>", 0);

  TokenizerParts parts;
  if (!model.charsmap.empty()) parts.normalizer = make_charsmap_normalizer(CharsMap(model.charsmap, file));
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  steps.push_back(make_whitespace_split());
  steps.push_back(make_metaspace("\u2581", Prepend::kAlways, true));
  parts.pre_tokenizer = make_sequence(std::move(steps));
  parts.model = make_unigram(Vocabulary(entries, file), std::move(scores), kUnknown, model.byte_fallback, file);
  parts.added = AddedTokens({special("<s>"), special("<pad>"), special("</s>"), special("<unk>"), special("<mask>", true)},
                            parts.model->vocabulary(), parts.normalizer.get(), file);
  parts.post_processor = PostProcessor::roberta(0, 2);
  return parts;
}

}  // namespace v0
}  // namespace saccade
