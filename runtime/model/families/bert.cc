// BERT, and what shares its classes: MiniLM, E5, BGE, the first GTE. Devlin et al. 2018.
#include "runtime/model/families/names.h"

namespace saccade {
inline namespace v0 {

void build_bert(Builder& builder) {
  expect_value(builder.json, "position_embedding_type", {"absolute"});
  expect_flag(builder.json, "is_decoder", false);
  const Config config = read_config(builder.json, {});
  describe(builder, config);
  post_norm_layers(builder, config, embeddings(builder, config, kBertEmbeddings), kBertLayer);
  add_head(builder, config, bert_heads(config.activation));
}

}  // namespace v0
}  // namespace saccade
