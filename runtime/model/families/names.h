// Names of tensors that several families share.
#pragma once

#include "runtime/model/blocks.h"
#include "runtime/model/heads.h"

namespace saccade {
inline namespace v0 {

inline constexpr EmbeddingNames kBertEmbeddings = {
    .word = "embeddings.word_embeddings",
    .position = "embeddings.position_embeddings",
    .type = "embeddings.token_type_embeddings",
    .norm = "embeddings.LayerNorm",
};

inline constexpr LayerNames kBertLayer = {
    .attention = {.query = "encoder.layer.#.attention.self.query",
                  .key = "encoder.layer.#.attention.self.key",
                  .value = "encoder.layer.#.attention.self.value",
                  .out = "encoder.layer.#.attention.output.dense"},
    .attention_norm = "encoder.layer.#.attention.output.LayerNorm",
    .ffn = {.up = "encoder.layer.#.intermediate.dense", .down = "encoder.layer.#.output.dense"},
    .ffn_norm = "encoder.layer.#.output.LayerNorm",
};

// `f` is that of the masked-LM head.
constexpr HeadNames bert_heads(Activation f) {
  return {.sequence = {.linear = "pooler.dense"},
          .masked = {.linear = "cls.predictions.transform.dense",
                     .f = f,
                     .norm = "cls.predictions.transform.LayerNorm|cls.predictions.transform.layer_norm"},
          .decoder = "cls.predictions.decoder",
          .decoder_bias = "cls.predictions.bias|cls.predictions.decoder.bias"};
}

inline constexpr HeadNames kRobertaHeads = {
    .sequence = {.linear = "classifier.dense"},
    .sequence_out = "classifier.out_proj",
    .masked = {.linear = "lm_head.dense", .f = Activation::kGelu, .norm = "lm_head.layer_norm"},
    .decoder = "lm_head.decoder",
    .decoder_bias = "lm_head.bias|lm_head.decoder.bias",
};

}  // namespace v0
}  // namespace saccade
