// ModernBERT: norms before attention and feed-forward, RoPE, GeGLU, and a window of nearby keys in all but every third layer.
// Warner et al. 2024.
#include "runtime/graph/check.h"
#include "runtime/model/blocks.h"
#include "runtime/model/heads.h"

namespace saccade {
inline namespace v0 {
namespace {

struct Biases {
  bool attention, mlp, norm, classifier, decoder;
};

// Whether each layer sees all keys: layer_types, or in older files every n-th layer from the first.
std::vector<bool> full_layers(const Json& json, int64_t layers) {
  std::vector<bool> full;
  if (const Json types = json.find("layer_types")) {
    for (const Json& type : types.elements()) {
      const std::string_view name = type.string();
      if (name != "full_attention" && name != "sliding_attention") {
        fail(Code::kUnsupported, type.where(), ": ", type.describe(),
             " is not supported, expected full_attention or sliding_attention");
      }
      full.push_back(name == "full_attention");
    }
    if (static_cast<int64_t>(full.size()) != layers) {
      fail(Code::kCorruptData, types.where(), ": ", full.size(), " entries, expected one for each of ", layers, " layers");
    }
    return full;
  }
  const int64_t every = json.integer_or("global_attn_every_n_layers", 3, 1, INT32_MAX);
  for (int64_t layer = 0; layer < layers; ++layer) full.push_back(layer % every == 0);
  return full;
}

// rope_parameters of the kind of layer; in older files one base for each kind, and rope_scaling for both.
AttentionKind attention_kind(const Json& json, const Config& config, bool full) {
  const Json kinds = json.find("rope_parameters");
  const Json parameters = kinds ? kinds.find(full ? "full_attention" : "sliding_attention") : json.find("rope_scaling");
  const double theta = full ? positive_or(json, "global_rope_theta", 160000) : positive_or(json, "local_rope_theta", 10000);
  AttentionKind kind{.rope = read_rope(parameters, theta, config)};
  if (!full) {
    const int64_t side = json.integer_or("local_attention", 128, 0, INT32_MAX) / 2;
    kind.options.window_left = kind.options.window_right = side;
  }
  return kind;
}

void add_layers(Builder& builder, const Config& config, const Biases& biases) {
  const AttentionNames attention_names = {.fused = "layers.#.attn.Wqkv",
                                          .query = "layers.#.attn.q_proj",
                                          .key = "layers.#.attn.k_proj",
                                          .value = "layers.#.attn.v_proj",
                                          .out = "layers.#.attn.Wo",
                                          .bias = biases.attention,
                                          .out_bias = biases.attention};
  const FeedForwardNames ffn_names = {.fused = "layers.#.mlp.Wi",
                                      .gate = "layers.#.mlp.gate_proj",
                                      .up = "layers.#.mlp.up_proj",
                                      .down = "layers.#.mlp.Wo",
                                      .bias = biases.mlp,
                                      .down_bias = biases.mlp};
  Graph& graph = builder.model.graph;
  const std::vector<bool> full = full_layers(builder.json, config.layers);
  Value x = embeddings(builder, config, {.word = "embeddings.tok_embeddings", .norm = "embeddings.norm"}, 0, biases.norm);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    // The embeddings' own norm stands before the first layer.
    const Value before = layer == 0 ? x : normalize(builder, config, x, "layers.#.attn_norm", layer, biases.norm);
    const AttentionKind kind = attention_kind(builder.json, config, full[static_cast<size_t>(layer)]);
    x = graph.add(attention(builder, config, before, attention_names, layer, kind), x);
    const Value between = normalize(builder, config, x, "layers.#.mlp_norm", layer, biases.norm);
    x = graph.add(feed_forward(builder, config, between, ffn_names, layer), x);
  }
  builder.model.hidden = normalize(builder, config, x, "final_norm", 0, biases.norm);
}

}  // namespace

void build_modernbert(Builder& builder) {
  const Json& json = builder.json;
  const Config config = read_config(
      json, {.vocabulary = 50368, .layers = 22, .ffn = 1152, .positions = 8192, .types = 0, .padding_id = 50283, .eps = 1e-5f});
  describe(builder, config);
  const Biases biases = {.attention = json.boolean_or("attention_bias", false),
                         .mlp = json.boolean_or("mlp_bias", false),
                         .norm = json.boolean_or("norm_bias", false),
                         .classifier = json.boolean_or("classifier_bias", false),
                         .decoder = json.boolean_or("decoder_bias", true)};
  add_layers(builder, config, biases);

  expect_value(json, "classifier_pooling", {"cls", "mean"});
  const Json f = json.find("classifier_activation");
  const Transform transform = {.linear = "head.dense",
                               .f = f ? read_activation(f) : Activation::kGelu,
                               .norm = "head.norm",
                               .bias = biases.classifier,
                               .norm_bias = biases.norm};
  add_head(builder, config,
           {.pooling = json.string_or("classifier_pooling", "cls") == "mean" ? Pooling::kMean : Pooling::kFirst,
            .sequence = transform,
            .token = transform,
            .masked = transform,
            .decoder = "decoder",
            .decoder_bias = biases.decoder ? "decoder.bias" : ""});
}

}  // namespace v0
}  // namespace saccade
