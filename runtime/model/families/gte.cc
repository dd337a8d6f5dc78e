// GTE v1.5 and multilingual ("new" in published files, "gte" in those that transformers 5 saves): BERT without position table,
// with RoPE and GeGLU. Zhang et al. 2024.
#include "runtime/model/families/names.h"

namespace saccade {
inline namespace v0 {
namespace {

constexpr EmbeddingNames kGteEmbeddings = {
    .word = kBertEmbeddings.word,
    .type = kBertEmbeddings.type,
    .norm = kBertEmbeddings.norm,
};
constexpr LayerNames kGteLayer = {
    .attention = {.fused = "encoder.layer.#.attention.qkv_proj",
                  .query = "encoder.layer.#.attention.q_proj|layers.#.self_attn.q_proj",
                  .key = "encoder.layer.#.attention.k_proj|layers.#.self_attn.k_proj",
                  .value = "encoder.layer.#.attention.v_proj|layers.#.self_attn.v_proj",
                  .out = "encoder.layer.#.attention.o_proj|layers.#.self_attn.o_proj"},
    .attention_norm = "encoder.layer.#.attn_ln|layers.#.post_attention_layernorm",
    .ffn = {.fused = "encoder.layer.#.mlp.up_gate_proj",
            .up_first = true,
            .gate = "layers.#.mlp.gate_proj",
            .up = "layers.#.mlp.up_proj",
            .down = "encoder.layer.#.mlp.down_proj|layers.#.mlp.down_proj",
            .bias = false},
    .ffn_norm = "encoder.layer.#.mlp_ln|layers.#.post_mlp_layernorm",
};
constexpr HeadNames kGteHeads = {
    .sequence = {.linear = "pooler.dense"},
    .masked = {.linear = "lm_head.dense", .f = Activation::kGelu, .norm = "lm_head.norm|lm_head.layer_norm"},
    .decoder = "lm_head.decoder",
    .decoder_bias = "lm_head.decoder.bias",
};

}  // namespace

void build_gte(Builder& builder) {
  const Json& json = builder.json;
  expect_value(json, "position_embedding_type", {"rope"});
  expect_value(json, "layer_norm_type", {"layer_norm"});
  expect_flag(json, "logn_attention_scale", false);
  const Config config = read_config(json, {.vocabulary = 250048, .positions = 8192, .types = 1, .padding_id = 1});
  describe(builder, config);
  const RopeOptions rope =
      read_rope(find_any(json, {"rope_scaling", "rope_parameters"}), positive_or(json, "rope_theta", 160000), config);
  post_norm_layers(builder, config, embeddings(builder, config, kGteEmbeddings), kGteLayer, {.rope = rope});
  add_head(builder, config, kGteHeads);
}

}  // namespace v0
}  // namespace saccade
