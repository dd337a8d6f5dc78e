// DistilBERT: BERT's layers without token types, under other names. Sanh et al. 2019.
#include "runtime/model/blocks.h"
#include "runtime/model/heads.h"

namespace saccade {
inline namespace v0 {
namespace {

constexpr EmbeddingNames kDistilbertEmbeddings = {
    .word = "embeddings.word_embeddings",
    .position = "embeddings.position_embeddings",
    .norm = "embeddings.LayerNorm",
};
constexpr LayerNames kDistilbertLayer = {
    .attention = {.query = "transformer.layer.#.attention.q_lin",
                  .key = "transformer.layer.#.attention.k_lin",
                  .value = "transformer.layer.#.attention.v_lin",
                  .out = "transformer.layer.#.attention.out_lin"},
    .attention_norm = "transformer.layer.#.sa_layer_norm",
    .ffn = {.up = "transformer.layer.#.ffn.lin1", .down = "transformer.layer.#.ffn.lin2"},
    .ffn_norm = "transformer.layer.#.output_layer_norm",
};

}  // namespace

void build_distilbert(Builder& builder) {
  const Config config = read_config(builder.json, {.layers = 6});
  describe(builder, config);
  post_norm_layers(builder, config, embeddings(builder, config, kDistilbertEmbeddings), kDistilbertLayer);
  add_head(builder, config,
           {.sequence = {.linear = "pre_classifier", .f = Activation::kRelu},
            .masked = {.linear = "vocab_transform", .f = config.activation, .norm = "vocab_layer_norm"},
            .decoder = "vocab_projector",
            .decoder_bias = "vocab_projector.bias"});
}

}  // namespace v0
}  // namespace saccade
