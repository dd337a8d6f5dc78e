// Nomic BERT: BERT without position table, with RoPE and SwiGLU, and without most biases. Nussbaum et al. 2024. Published files
// and those that transformers 5 saves spell keys and tensors differently.
#include <algorithm>

#include "runtime/graph/check.h"
#include "runtime/model/families/names.h"

namespace saccade {
inline namespace v0 {
namespace {

constexpr EmbeddingNames kEmbeddings = {
    .word = kBertEmbeddings.word,
    .type = kBertEmbeddings.type,
    .norm = "emb_ln|embeddings.LayerNorm",
};

LayerNames layer_names(const Json& json) {
  const bool qkv_bias = json.boolean_or("qkv_proj_bias", false);
  const bool in_bias = json.boolean_or("mlp_fc1_bias", false), out_bias = json.boolean_or("mlp_fc2_bias", false);
  return {
      .attention = {.fused = "encoder.layers.#.attn.Wqkv",
                    .query = "layers.#.self_attn.q_proj",
                    .key = "layers.#.self_attn.k_proj",
                    .value = "layers.#.self_attn.v_proj",
                    .out = "encoder.layers.#.attn.out_proj|layers.#.self_attn.o_proj",
                    .bias = qkv_bias,
                    .out_bias = qkv_bias},
      .attention_norm = "encoder.layers.#.norm1|layers.#.post_attention_layernorm",
      .ffn = {.gate = "encoder.layers.#.mlp.fc12|layers.#.mlp.gate_proj",
              .up = "encoder.layers.#.mlp.fc11|layers.#.mlp.up_proj",
              .down = "encoder.layers.#.mlp.fc2|layers.#.mlp.down_proj",
              .bias = in_bias,
              .down_bias = out_bias},
      .ffn_norm = "encoder.layers.#.norm2|layers.#.post_mlp_layernorm",
  };
}

// Refuses what the published code can do and no published text embedder of this kind does.
void refuse_variants(const Json& json) {
  for (const char* off : {"prenorm", "use_rms_norm", "causal", "parallel_block"}) expect_value(json, off, false);
  for (const char* zero : {"num_experts", "moe_every_n_layers"}) {
    if (const Json value = json.find(zero); value && value.number() != 0) {
      fail(Code::kUnsupported, value.where(), ": ", value.describe(),
           " is not supported, expected 0: mixtures of experts are not");
    }
  }
}

RopeOptions rope(const Json& json, const Config& config) {
  RopeOptions rope =
      read_rope(find_any(json, {"rope_parameters", "rope_scaling"}), json.number_or("rotary_emb_base", 1000), config);
  if (const Json fraction = json.find("rotary_emb_fraction")) {
    const double value = fraction.number();
    if (!(value > 0 && value <= 1)) {
      fail(Code::kUnsupported, fraction.where(), ": ", fraction.describe(),
           " is not supported, expected more than 0 and at most 1");
    }
    rope.rotary_dim = static_cast<int64_t>(static_cast<double>(config.head_dim()) * value);
  }
  rope.interleaved = json.boolean_or("rotary_emb_interleaved", false);
  return rope;
}

}  // namespace

void build_nomic_bert(Builder& builder) {
  const Json& json = builder.json;
  refuse_variants(json);
  Config config = read_config(json, {.vocabulary = 30528, .positions = 2048, .activation = Activation::kSilu});
  if (const Json f = json.find("activation_function")) {  // "swiglu" here; hidden_act names SiLU in newer files
    expect_value(json, "activation_function", {"swiglu", "geglu", "glu"});
    config.activation = f.string() == "swiglu"  ? Activation::kSilu
                        : f.string() == "geglu" ? Activation::kGelu
                                                : Activation::kSigmoid;
  }
  // With a scaling factor, texts beyond the trained length would be rotated by a base of their own; the length ends there.
  if (json.find("rotary_scaling_factor")) {
    config.positions = std::min(config.positions, json.integer_or("max_trained_positions", 2048, 1, INT32_MAX));
  }
  describe(builder, config);
  post_norm_layers(builder, config, embeddings(builder, config, kEmbeddings), layer_names(json), {.rope = rope(json, config)});
  add_head(builder, config, bert_heads(config.activation));
}

}  // namespace v0
}  // namespace saccade
