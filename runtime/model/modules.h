// What a directory of sentence-transformers says beside the model: the modules after it, limits, prompts, activations of scores.
// The rules, defaults and spellings are those of sentence-transformers; what cannot be done the same way is refused by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "saccade/graph.h"

namespace saccade {
inline namespace v0 {

// y = f(x W + b), with use_residual plus x (through a matrix of its own where the widths differ).
struct DenseModule {
  std::string directory;  // holds model.safetensors with linear.weight, linear.bias, residual.weight
  int64_t in = 0, out = 0;
  bool bias = true, residual = false;
  Activation activation = Activation::kTanh;
};

// One module after pooling: a dense one, or none for length 1.
using VectorModule = std::optional<DenseModule>;

struct Modules {
  std::string transformer;  // directory of config.json, weights and tokenizer
  std::optional<Pooling> pooling;
  std::string pooling_source;       // file that names the pooling; "default" without modules.json
  bool pools_prompt = true;         // include_prompt
  std::vector<VectorModule> after;  // between pooling and the normalisation at the end
  bool normalize = false;           // whether the modules end with Normalize
  std::vector<std::string> names;   // for people: "Transformer", "Pooling", "Dense 384 -> 128 tanh", "Normalize"
};
// modules.json and the files of its modules; without modules.json: mean pooling of the directory itself.
Modules read_modules(const std::string& directory);

struct Prompts {
  std::vector<std::pair<std::string, std::string>> texts;  // name, text
  std::string default_name;                                // empty: none
  std::string similarity = "cosine";
  std::optional<bool> sigmoid;  // activation of a cross-encoder's scores, if it is named here
};
Prompts read_prompts(const std::string& directory);  // config_sentence_transformers.json

struct TextLimits {
  int64_t max_tokens = 0;   // least of max_seq_length and model_max_length; 0: neither says
  bool lower_case = false;  // do_lower_case: the tokenizer must not keep case
};
// sentence_bert_config.json or one of its namesakes, and tokenizer_config.json.
TextLimits read_limits(const std::string& transformer);

// Whether config.json puts the scores of a cross-encoder through a sigmoid: what it names, else yes for one label.
bool read_sigmoid(const std::string& transformer, int64_t labels);

}  // namespace v0
}  // namespace saccade
