#include "runtime/model/config.h"

#include <algorithm>
#include <cmath>

#include "runtime/graph/check.h"

namespace saccade {
inline namespace v0 {
namespace {

// Larger than any published model by some factors; keeps products far from overflow and tables of RoPE below a gigabyte.
constexpr int64_t kMaxVocabulary = int64_t{1} << 28;
constexpr int64_t kMaxSize = int64_t{1} << 20;
constexpr int64_t kMaxLayers = 4096;
constexpr double kMaxNumber = 1e18;  // so that the product of two is a float

struct ActivationName {
  std::string_view name;
  Activation activation;
};
constexpr ActivationName kActivations[] = {
    {"gelu", Activation::kGelu},
    {"gelu_python", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_python_tanh", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"relu", Activation::kRelu},
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"tanh", Activation::kTanh},
};

struct Size {
  int64_t Config::*member;
  int64_t low, high;
  std::initializer_list<std::string_view> keys;
};

[[noreturn]] void unknown(const Json& value, std::span<const std::string_view> known) {
  std::string list;
  for (const std::string_view name : known) list += text(list.empty() ? "" : ", ", name);
  fail(Code::kUnsupported, value.where(), ": ", value.describe(), " is not supported, expected ",
       known.size() == 1 ? "" : "one of ", list);
}

}  // namespace

Json find_any(const Json& root, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const Json value = root.find(key)) return value;
  }
  return {};
}

Config read_config(const Json& root, const Config& defaults) {
  const Size sizes[] = {
      {&Config::vocabulary, 1, kMaxVocabulary, {"vocab_size"}},
      {&Config::width, 1, kMaxSize, {"hidden_size", "dim", "n_embd"}},
      {&Config::layers, 1, kMaxLayers, {"num_hidden_layers", "n_layers", "n_layer"}},
      {&Config::heads, 1, kMaxSize, {"num_attention_heads", "n_heads", "n_head"}},
      {&Config::ffn, 1, kMaxSize, {"intermediate_size", "hidden_dim", "n_inner"}},
      {&Config::positions, 1, kMaxSize, {"max_position_embeddings", "n_positions"}},
      {&Config::types, 0, kMaxSize, {"type_vocab_size"}},
      {&Config::padding_id, 0, kMaxVocabulary, {"pad_token_id"}},
  };
  Config config = defaults;
  for (const Size& size : sizes) {
    if (const Json value = find_any(root, size.keys)) config.*size.member = value.integer(size.low, size.high);
  }
  for (const std::string_view key : {"layer_norm_eps", "layer_norm_epsilon", "norm_eps"}) {
    config.eps = static_cast<float>(positive_or(root, key, config.eps));
  }
  if (const Json name = find_any(root, {"hidden_act", "hidden_activation", "activation"}))
    config.activation = read_activation(name);
  if (config.width % config.heads != 0) {
    fail(Code::kCorruptData, root.where(), ": ", config.heads, " heads do not divide the width ", config.width);
  }
  if (const Json head_dim = root.find("head_dim"); head_dim && head_dim.integer(1, kMaxSize) != config.head_dim()) {
    fail(Code::kUnsupported, head_dim.where(), ": ", head_dim.describe(),
         " is not supported, expected width / heads = ", config.head_dim());
  }
  return config;
}

Activation read_activation(const Json& name) {
  for (const ActivationName& known : kActivations) {
    if (known.name == name.string()) return known.activation;
  }
  std::vector<std::string_view> names;
  for (const ActivationName& known : kActivations) names.push_back(known.name);
  unknown(name, names);
}

void expect_value(const Json& root, std::string_view key, std::initializer_list<std::string_view> known) {
  const Json value = root.find(key);
  if (value && std::find(known.begin(), known.end(), value.string()) == known.end())
    unknown(value, {known.begin(), known.size()});
}

void expect_flag(const Json& root, std::string_view key, bool known) {
  const Json value = root.find(key);
  const std::string_view name = known ? "true" : "false";
  if (value && value.boolean() != known) unknown(value, {&name, 1});
}

void expect_number(const Json& root, std::string_view key, double known) {
  const Json value = root.find(key);
  const std::string name = text(static_cast<float>(known));
  const std::string_view names[] = {name};
  if (value && value.number() != known) unknown(value, names);
}

double positive_or(const Json& root, std::string_view key, double otherwise) {
  const Json value = root.find(key);
  if (!value) return otherwise;
  if (const double number = value.number(); number > 0 && number <= kMaxNumber) return number;
  fail(Code::kCorruptData, value.where(), ": expected a positive number up to ", static_cast<float>(kMaxNumber), ", found ",
       value.describe());
}

RopeOptions read_rope(const Json& parameters, double theta, const Config& config) {
  RopeOptions rope;
  rope.heads = config.heads;
  rope.max_positions = config.positions;
  rope.base = static_cast<float>(theta);
  if (!parameters) return rope;
  theta = positive_or(parameters, "rope_theta", theta);
  expect_number(parameters, "partial_rotary_factor", 1.0);
  const Json type = find_any(parameters, {"rope_type", "type"});
  const std::string_view name = type ? type.string() : "default";
  if (name == "linear") {
    rope.scale = 1 / positive_or(parameters, "factor", 1);
  } else if (name == "ntk") {
    if (const Json mixed = parameters.find("mixed_b"))
      fail(Code::kUnsupported, mixed.where(), ": mixed NTK scaling is not supported");
    const double factor = positive_or(parameters, "factor", 1);
    theta *= factor;
    rope.scale = std::pow(factor, -2.0 / static_cast<double>(config.head_dim()));
  } else if (name != "default") {
    const std::string_view known[] = {"default", "linear", "ntk"};
    unknown(type, known);
  }
  rope.base = static_cast<float>(theta);
  return rope;
}

std::vector<std::string> read_labels(const Json& root) {
  std::vector<std::string> labels;
  const Json names = root.find("id2label");
  if (!names) {
    const int64_t count = root.integer_or("num_labels", 2, 1, kMaxSize);
    for (int64_t i = 0; i < count; ++i) labels.push_back(text("LABEL_", i));
    return labels;
  }
  const auto members = names.members();
  labels.resize(members.size());
  std::vector<bool> seen(members.size());
  for (const auto& [key, name] : members) {
    size_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id >= labels.size() || seen[id] || !name) {
      fail(Code::kCorruptData, names.where(), ": the key \"", key.substr(0, 40), "\" is not one of 0 to ", labels.size() - 1,
           ", each once with a name");
    }
    seen[id] = true;
    labels[id] = name.is_string() ? std::string(name.string()) : name.describe();
  }
  if (labels.empty()) fail(Code::kCorruptData, names.where(), ": no labels, expected at least 1");
  return labels;
}

}  // namespace v0
}  // namespace saccade
