// Nomic BERT: BERT without position table, with RoPE and SwiGLU, and without most biases. Nussbaum et al. 2024. Published files
// and those that transformers 5 saves spell keys and tensors differently.
#include <algorithm>

#include "runtime/model/families/names.h"

namespace saccade {
inline namespace v0 {
namespace {

constexpr EmbeddingNames kNomicEmbeddings = {
    .word = kBertEmbeddings.word,
    .type = kBertEmbeddings.type,
    .norm = "emb_ln|embeddings.LayerNorm",
};

constexpr LayerNames kNomicLayer = {
    .attention = {.fused = "encoder.layers.#.attn.Wqkv",
                  .query = "layers.#.self_attn.q_proj",
                  .key = "layers.#.self_attn.k_proj",
                  .value = "layers.#.self_attn.v_proj",
                  .out = "encoder.layers.#.attn.out_proj|layers.#.self_attn.o_proj",
                  .bias = false,
                  .out_bias = false},
    .attention_norm = "encoder.layers.#.norm1|layers.#.post_attention_layernorm",
    .ffn = {.gate = "encoder.layers.#.mlp.fc12|layers.#.mlp.gate_proj",
            .up = "encoder.layers.#.mlp.fc11|layers.#.mlp.up_proj",
            .down = "encoder.layers.#.mlp.fc2|layers.#.mlp.down_proj",
            .bias = false,
            .down_bias = false},
    .ffn_norm = "encoder.layers.#.norm2|layers.#.post_mlp_layernorm",
};

// The published code can do more than the published text embedders of this kind ask for.
void refuse_variants(const Json& json) {
  for (const char* key : {"qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "prenorm", "use_rms_norm", "causal", "parallel_block",
                          "rotary_emb_interleaved"}) {
    expect_flag(json, key, false);
  }
  for (const char* key : {"num_experts", "moe_every_n_layers"}) expect_number(json, key, 0.0);
  expect_number(json, "rotary_emb_fraction", 1.0);
  expect_value(json, "activation_function", {"swiglu"});
}

}  // namespace

void build_nomic_bert(Builder& builder) {
  const Json& json = builder.json;
  refuse_variants(json);
  Config config = read_config(json, {.vocabulary = 30528, .positions = 2048, .activation = Activation::kSilu});
  // With a scaling factor, texts beyond the trained length would be rotated by a base of their own; the length ends there.
  if (json.find("rotary_scaling_factor")) {
    config.positions = std::min(config.positions, json.integer_or("max_trained_positions", 2048, 1, INT32_MAX));
  }
  describe(builder, config);
  const RopeOptions rope = read_rope(json.find("rope_parameters"), positive_or(json, "rotary_emb_base", 1000), config);
  post_norm_layers(builder, config, embeddings(builder, config, kNomicEmbeddings), kNomicLayer, {.rope = rope});
  add_head(builder, config, bert_heads(config.activation));
}

}  // namespace v0
}  // namespace saccade
