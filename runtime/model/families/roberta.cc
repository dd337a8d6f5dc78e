// RoBERTa, XLM-RoBERTa and CamemBERT: BERT's layers, with positions that count from the padding id + 1. Liu et al. 2019.
#include "runtime/model/families/names.h"

namespace saccade {
inline namespace v0 {

void build_roberta(Builder& builder) {
  expect_value(builder.json, "position_embedding_type", {"absolute"});
  expect_flag(builder.json, "is_decoder", false);
  const Config config = read_config(builder.json, {.vocabulary = 50265, .padding_id = 1});
  describe(builder, config);
  post_norm_layers(builder, config, embeddings(builder, config, kBertEmbeddings, config.padding_id + 1), kBertLayer);
  add_head(builder, config, kRobertaHeads);
}

}  // namespace v0
}  // namespace saccade
