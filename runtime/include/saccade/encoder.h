// A published model directory in, vectors out: what sentence-transformers gives for the same files. Part of saccade::model.
//
// The directory has the layout of Hugging Face or sentence-transformers: config.json, model.safetensors (or shards with their
// index), tokenizer files, and optionally modules.json with pooling, dense and normalise modules and
// config_sentence_transformers.json with prompts. Nothing in it is trusted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "saccade/executor.h"
#include "saccade/export.h"
#include "saccade/graph.h"
#include "saccade/plan.h"
#include "saccade/status.h"
#include "saccade/tensor.h"
#include "saccade/tokenizer.h"

namespace saccade {
inline namespace v0 {

// What a head computes from the hidden states of the last layer.
enum class Head : uint8_t {
  kNone,
  kSequenceClassification,  // [sequences, labels]: rerankers (cross-encoders) and classifiers
  kTokenClassification,     // [tokens, labels]
  kMaskedLm,                // [tokens, vocabulary]: fill-mask scores
};

// A graph built from config.json and the safetensors files. Inputs: "ids" and, if type_ids, "type_ids", one id per token each;
// outputs: "hidden" [tokens, width] and, with a head, "logits". Further outputs may be added before it is compiled.
struct ModelGraph {
  Graph graph;
  Value hidden;
  Value logits;  // invalid without a head
  Head head = Head::kNone;
  std::string family;        // "bert", "distilbert", "roberta", "mpnet", "modernbert", "nomic_bert", "gte"
  std::string architecture;  // as config.json says: "BertModel"
  bool type_ids = false;     // whether the graph has the input "type_ids"
  int64_t layers = 0, width = 0, heads = 0, ffn = 0, vocabulary = 0;
  int64_t max_tokens = 0;  // usable length: rows of the position table minus its offset, or what config.json promises for RoPE
  int64_t parameters = 0;  // numbers in the tensors that are used
  std::string dtype;       // of the weights in the files: "f32", "f16", "bf16" or "mixed"
  std::vector<std::string> labels;          // of a classification head: id2label, in order
  std::vector<std::string> unused_tensors;  // in the files, read by nothing
};

// Weights stay where they are mapped until a plan packs them; with PlanOptions::release_weights their pages go then. A tensor
// that is missing, an architecture or an activation that is not known is an error that names it.
SACCADE_EXPORT Result<ModelGraph> load_graph(const std::string& directory);

struct LoadOptions {
  std::string isa = {};                                     // as PlanOptions::isa
  int threads = 0;                                          // as ContextOptions::threads
  std::shared_ptr<Executor> executor = nullptr;             // as ContextOptions::executor
  std::shared_ptr<LinearBackend> linear_backend = nullptr;  // as PlanOptions::linear_backend
};

// What the files say, for people and programs.
struct EncoderInfo {
  std::string directory, family, architecture, dtype, tokenizer;
  int64_t layers = 0, width = 0, heads = 0, ffn = 0, vocabulary = 0, parameters = 0;
  int64_t max_tokens = 0;            // least of the position table, max_seq_length and model_max_length; special tokens included
  int64_t output_width = 0;          // of a text's vector
  Pooling pooling = Pooling::kMean;  // as published
  std::string pooling_source;        // the file that says so, or "default"
  bool normalize = false;            // as published
  std::vector<std::string> modules;  // "Transformer", "Pooling", "Dense 384 -> 128 tanh", "Normalize"
  std::vector<std::pair<std::string, std::string>> prompts;  // name, text
  std::string default_prompt;                                // its name; empty: none
  std::string similarity;                                    // "cosine", "dot", "euclidean" or "manhattan"
  Head head = Head::kNone;
  bool sigmoid = false;  // whether scores of pairs go through a sigmoid as published
  std::vector<std::string> labels;
  std::vector<std::string> unused_tensors;
  std::string output;        // what the plan of the published options computes: name of its one output
  bool type_ids = false;     // whether that plan has the input "type_ids" beside "ids"
  int64_t weight_bytes = 0;  // packed weights and tables that it holds or reads
};

struct EncodeOptions {
  std::optional<Pooling> pooling = {};          // none: as published
  std::optional<bool> normalize = {};           // none: as published
  std::optional<std::string> prompt_name = {};  // none: the directory's default prompt; an unknown name lists the known ones
  std::optional<std::string> prompt = {};       // text put before each text; wins over prompt_name. "" : none
  bool truncate = false;                    // cut what is longer than max_tokens, special tokens kept; else it is out_of_range
  int64_t max_tokens = 0;                   // a shorter limit than the model's; 0: the model's
  int64_t max_batch_tokens = 8192;          // most tokens of one run; a longer text runs alone
  std::optional<bool> sigmoid = {};         // scores of pairs: none: as published
  const std::atomic<bool>* stop = nullptr;  // set by anyone to end with cancelled
  std::function<void(int64_t done, int64_t total)> progress = nullptr;  // texts; called by the calling thread after each run
};

struct TextPair {
  std::string_view first, second;
};

// Hidden states of every token, one text after the other; or one row per label or vocabulary entry with a token-level head.
struct TokenVectors {
  std::vector<int64_t> offsets;  // [texts + 1]: text i has the rows offsets[i] .. offsets[i + 1]
  std::vector<int32_t> ids;      // [tokens]
  std::vector<float> values;     // [tokens, width]
  int64_t width = 0;
};

// Immutable: every member is callable from any number of threads at the same time; each call borrows a Context of its own. A
// text's vector has the same bits alone, in any batch and with any number of threads.
class SACCADE_EXPORT Encoder {
 public:
  static Result<Encoder> load(const std::string& directory, const LoadOptions& options = {});

  // Writes one vector per text to `vectors` [texts, info().output_width], in the order of the texts. An empty text gives the
  // vector of its special tokens, as sentence-transformers does. On error or cancel the rows of texts that were not computed are
  // untouched.
  Status encode(std::span<const std::string_view> texts, const Matrix& vectors, const EncodeOptions& options = {}) const;
  Result<std::vector<float>> encode(std::span<const std::string_view> texts, const EncodeOptions& options = {}) const;

  // One row of scores per pair [pairs, labels]: needs a sequence classification head.
  Status encode_pairs(std::span<const TextPair> pairs, const Matrix& scores, const EncodeOptions& options = {}) const;

  // Hidden states before pooling, or the scores of a token-level head.
  Result<TokenVectors> encode_tokens(std::span<const std::string_view> texts, const EncodeOptions& options = {}) const;

  const EncoderInfo& info() const;
  const Tokenizer& tokenizer() const;
  // The plan that these options are computed with: of encode_pairs where the files have a sequence classification head, of
  // encode_tokens where they have a token classification head, else of encode.
  Result<Plan> plan(const EncodeOptions& options = {}) const;

  struct Data;

 private:
  explicit Encoder(std::shared_ptr<Data> data) : data_(std::move(data)) {}
  std::shared_ptr<Data> data_;
};

}  // namespace v0
}  // namespace saccade
