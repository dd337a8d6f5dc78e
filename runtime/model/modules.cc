#include "runtime/model/modules.h"

#include <algorithm>
#include <string_view>

#include "runtime/graph/check.h"
#include "runtime/model/files.h"
#include "runtime/model/json.h"

namespace saccade {
inline namespace v0 {
namespace {

constexpr int64_t kConfigLimit = int64_t{16} << 20;  // bytes; tokenizer_config.json with thousands of added tokens has some 2 MB
constexpr int64_t kMostFeatures = 1 << 20;

std::string_view last_part(std::string_view dotted) { return dotted.substr(dotted.find_last_of('.') + 1); }

template <class T>
struct Named {
  std::string_view name;
  T value;
};

// The entry of that name; unsupported with what is known otherwise.
template <class T, size_t N>
T lookup(const Named<T> (&table)[N], std::string_view name, const Json& value) {
  std::string known;
  for (const Named<T>& entry : table) {
    if (entry.name == name) return entry.value;
    known += text(known.empty() ? "" : ", ", entry.name);
  }
  fail(Code::kUnsupported, value.where(), ": ", value.describe(), " is not supported; known: ", known);
}

constexpr Named<Pooling> kPoolings[] = {
    {"cls", Pooling::kFirst}, {"max", Pooling::kMax}, {"mean", Pooling::kMean}, {"lasttoken", Pooling::kLast}};

// Keys of files from before pooling_mode, with the mode that each switches on.
constexpr Named<std::string_view> kPoolingKeys[] = {{"pooling_mode_cls_token", "cls"},
                                                    {"pooling_mode_max_tokens", "max"},
                                                    {"pooling_mode_mean_tokens", "mean"},
                                                    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
                                                    {"pooling_mode_weightedmean_tokens", "weightedmean"},
                                                    {"pooling_mode_lasttoken", "lasttoken"}};

struct NamedActivation {
  Activation f;
  std::string_view text;
};
constexpr Named<NamedActivation> kDenseActivations[] = {
    {"Identity", {Activation::kIdentity, ""}}, {"ReLU", {Activation::kRelu, " relu"}},
    {"GELU", {Activation::kGelu, " gelu"}},    {"SiLU", {Activation::kSilu, " silu"}},
    {"Tanh", {Activation::kTanh, " tanh"}},    {"Sigmoid", {Activation::kSigmoid, " sigmoid"}}};
constexpr Named<bool> kScoreActivations[] = {{"Identity", false}, {"Sigmoid", true}};

// The modes that a pooling's config.json names; the value is for messages.
std::vector<std::pair<std::string_view, Json>> pooling_modes(const Json& root) {
  std::vector<std::pair<std::string_view, Json>> modes;
  if (const Json mode = root.find("pooling_mode")) {
    if (!mode.is_array()) return {{mode.string(), mode}};
    for (const Json& one : mode.elements()) modes.emplace_back(one.string(), one);
    return modes;
  }
  for (const auto& [key, mode] : kPoolingKeys) {
    if (root.boolean_or(key, false)) modes.emplace_back(mode, root.find(key));
  }
  return modes;
}

void read_pooling(const std::string& directory, const std::string& path, Modules& modules) {
  const JsonDocument document = JsonDocument::read(join_path(directory, "config.json"), kConfigLimit);
  const Json root = document.root();
  const auto modes = pooling_modes(root);
  if (modes.size() > 1) {
    fail(Code::kUnsupported, document.name(), ": several pooling modes at once (", modes[0].first, ", ", modes[1].first,
         ") are not supported");
  }
  modules.pooling = modes.empty() ? Pooling::kMean : lookup(kPoolings, modes[0].first, modes[0].second);
  modules.pooling_source = join_path(path, "config.json");
  modules.pools_prompt = root.boolean_or("include_prompt", true);
}

// Dense and Normalize work on the vector of the text here, as they do unless the file says otherwise.
void expect_sentence_embedding(const Json& root) {
  for (const char* key : {"module_input_name", "module_output_name"}) {
    const Json value = root.find(key);
    if (value && value.string() != "sentence_embedding") {
      fail(Code::kUnsupported, value.where(), ": ", value.describe(), " is not supported; known: sentence_embedding");
    }
  }
}

std::string read_dense(const std::string& directory, Modules& modules) {
  const JsonDocument document = JsonDocument::read(join_path(directory, "config.json"), kConfigLimit);
  const Json root = document.root();
  expect_sentence_embedding(root);
  DenseModule dense{.directory = directory};
  dense.in = root.at("in_features").integer(1, kMostFeatures);
  dense.out = root.at("out_features").integer(1, kMostFeatures);
  dense.bias = root.boolean_or("bias", true);
  dense.residual = root.boolean_or("use_residual", false);
  NamedActivation activation{Activation::kTanh, " tanh"};
  if (const Json name = root.find("activation_function")) {
    const bool torch = name.string().starts_with("torch.");
    activation = lookup(kDenseActivations, torch ? last_part(name.string()) : name.string(), name);
  }
  dense.activation = activation.f;
  modules.after.emplace_back(dense);
  return text("Dense ", dense.in, " -> ", dense.out, activation.text, dense.residual ? " + residual" : "");
}

void read_normalize(const std::string& directory, Modules& modules) {
  const std::string file = join_path(directory, "config.json");
  if (exists(file)) {
    const JsonDocument document = JsonDocument::read(file, kConfigLimit);
    expect_sentence_embedding(document.root());
  }
  modules.after.emplace_back(std::nullopt);
}

void read_module(const std::string& directory, const Json& module, Modules& modules) {
  const Json type = module.at("type");
  const std::string_view kind = last_part(type.string());
  const std::string path = module.string_or("path", "");
  const std::string folder = path.empty() ? directory : join_path(directory, path);
  std::string name(kind);
  const bool first = modules.names.empty();
  if (first != (kind == "Transformer")) {
    fail(Code::kUnsupported, type.where(), ": ", type.describe(), first ? " as the first module" : " as a later module",
         " is not supported; a Transformer must come first, and only there");
  }
  if (first) {
    modules.transformer = folder;
  } else if (kind == "Pooling") {
    if (modules.pooling || !modules.after.empty()) {
      fail(Code::kUnsupported, type.where(), ": a Pooling is supported as the second module only");
    }
    read_pooling(folder, path, modules);
  } else if (kind == "Dense" && modules.pooling) {
    name = read_dense(folder, modules);
  } else if (kind == "Normalize" && modules.pooling) {
    read_normalize(folder, modules);
  } else if (kind != "Dropout") {  // which does nothing outside training
    fail(Code::kUnsupported, type.where(), ": the module ", type.describe(), modules.pooling ? "" : " in front of any Pooling",
         " is not supported");
  }
  modules.names.push_back(std::move(name));
}

// The activation of scores that a key names; absent when there is no such key.
std::optional<bool> score_activation(const Json& name) {
  if (!name) return std::nullopt;
  return lookup(kScoreActivations, last_part(name.string()), name);
}

}  // namespace

Modules read_modules(const std::string& directory) {
  Modules modules;
  const std::string file = join_path(directory, "modules.json");
  if (!exists(file)) {
    modules.transformer = directory;
    modules.pooling = Pooling::kMean;
    modules.pooling_source = "default";
    modules.names = {"Transformer", "Pooling"};
    return modules;
  }
  const JsonDocument document = JsonDocument::read(file, kConfigLimit);
  for (const Json& module : document.root().elements()) read_module(directory, module, modules);
  if (modules.names.empty()) fail(Code::kCorruptData, file, ": expected a list of modules, found none");
  while (!modules.after.empty() && !modules.after.back()) {
    modules.normalize = true;
    modules.after.pop_back();
  }
  return modules;
}

Prompts read_prompts(const std::string& directory) {
  Prompts prompts;
  const std::string file = join_path(directory, "config_sentence_transformers.json");
  if (!exists(file)) return prompts;
  const JsonDocument document = JsonDocument::read(file, kConfigLimit);
  const Json root = document.root();
  if (const Json texts = root.find("prompts")) {
    for (const auto& [name, value] : texts.members()) prompts.texts.emplace_back(name, value ? value.string() : "");
  }
  if (const Json name = root.find("default_prompt_name"); name && !name.string().empty()) {
    prompts.default_name = name.string();
    const auto is_it = [&](const auto& prompt) { return prompt.first == prompts.default_name; };
    if (std::none_of(prompts.texts.begin(), prompts.texts.end(), is_it)) {
      fail(Code::kCorruptData, name.where(), ": ", name.describe(), " is not among the prompts");
    }
  }
  if (const Json name = root.find("similarity_fn_name")) {
    constexpr Named<std::string_view> kSimilarities[] = {
        {"cosine", "cosine"}, {"dot", "dot"}, {"euclidean", "euclidean"}, {"manhattan", "manhattan"}};
    prompts.similarity = lookup(kSimilarities, name.string(), name);
  }
  prompts.sigmoid = score_activation(root.find("activation_fn"));
  return prompts;
}

TextLimits read_limits(const std::string& transformer) {
  TextLimits limits;
  const auto at_most = [&](double tokens, const Json& value) {
    if (!(tokens >= 1)) fail(Code::kCorruptData, value.where(), ": expected at least 1 token, found ", value.describe());
    constexpr double kNoLimit = 1e9;  // tokenizers without a limit write 1e30
    if (tokens >= kNoLimit) return;
    const auto whole = static_cast<int64_t>(tokens);
    limits.max_tokens = limits.max_tokens == 0 ? whole : std::min(limits.max_tokens, whole);
  };
  for (const char* model : {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"}) {
    const std::string file = join_path(transformer, text("sentence_", model, "_config.json"));
    if (!exists(file)) continue;
    const JsonDocument document = JsonDocument::read(file, kConfigLimit);
    const Json root = document.root();
    if (const Json length = root.find("max_seq_length")) at_most(length.number(), length);
    limits.lower_case = root.boolean_or("do_lower_case", false);
    if (const Json task = root.find("transformer_task")) {
      constexpr Named<bool> kTasks[] = {{"feature-extraction", true}, {"sequence-classification", true}};
      (void)lookup(kTasks, task.string(), task);
    }
    break;
  }
  const std::string file = join_path(transformer, "tokenizer_config.json");
  if (exists(file)) {
    const JsonDocument document = JsonDocument::read(file, kConfigLimit);
    if (const Json length = document.root().find("model_max_length")) at_most(length.number(), length);
  }
  return limits;
}

bool read_sigmoid(const std::string& transformer, int64_t labels) {
  const JsonDocument document = JsonDocument::read(join_path(transformer, "config.json"), kConfigLimit);
  const Json root = document.root();
  std::optional<bool> sigmoid;
  if (const Json own = root.find("sentence_transformers")) sigmoid = score_activation(own.find("activation_fn"));
  if (!sigmoid) sigmoid = score_activation(root.find("sbert_ce_default_activation_function"));
  return sigmoid.value_or(labels == 1);
}

}  // namespace v0
}  // namespace saccade
