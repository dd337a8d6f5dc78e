#include "runtime/model/heads.h"

#include "runtime/model/blocks.h"

namespace saccade {
inline namespace v0 {
namespace {

Value transformed(Builder& builder, const Config& config, Value x, const Transform& transform) {
  if (transform.linear.empty()) return x;
  x = linear(builder, x, transform.linear, 0, config.width, config.width, transform.bias);
  x = builder.model.graph.activation(x, transform.f);
  return transform.norm.empty() ? x : normalize(builder, config, x, transform.norm, 0, transform.norm_bias);
}

Value classified(Builder& builder, const Config& config, Value x, const Transform& transform, std::string_view out) {
  builder.model.labels = read_labels(builder.json);
  const auto labels = static_cast<int64_t>(builder.model.labels.size());
  return linear(builder, transformed(builder, config, x, transform), out, 0, config.width, labels);
}

Value vocabulary_scores(Builder& builder, const Config& config, const HeadNames& names) {
  const Value x = transformed(builder, config, builder.model.hidden, names.masked);
  const Weight decoder = builder.json.boolean_or("tie_word_embeddings", true)
                             ? TensorReader::tied(builder.words)
                             : builder.tensors.linear(names.decoder, 0, config.width, config.vocabulary, false).weight;
  const Vector bias = names.decoder_bias.empty() ? Vector() : builder.tensors.vector(names.decoder_bias, config.vocabulary);
  return builder.model.graph.linear(x, decoder, bias);
}

}  // namespace

void add_head(Builder& builder, const Config& config, const HeadNames& names) {
  ModelGraph& model = builder.model;
  switch (model.head) {
    case Head::kNone:
      return;
    case Head::kSequenceClassification:
      model.logits =
          classified(builder, config, model.graph.pool(model.hidden, names.pooling), names.sequence, names.sequence_out);
      return;
    case Head::kTokenClassification:
      model.logits = classified(builder, config, model.hidden, names.token, names.token_out);
      return;
    case Head::kMaskedLm:
      if (builder.tensors.has(names.masked.linear)) {
        model.logits = vocabulary_scores(builder, config, names);
      } else {
        model.head = Head::kNone;
      }
      return;
  }
}

}  // namespace v0
}  // namespace saccade
