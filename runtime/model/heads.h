// What a model computes from its hidden states: scores of a sequence, of each token, or of the vocabulary for each token.
#pragma once

#include <string_view>

#include "runtime/model/config.h"
#include "runtime/model/family.h"

namespace saccade {
inline namespace v0 {

// norm(f(linear(x))), the norm only if it has a name. Without a linear: x.
struct Transform {
  std::string_view linear = {};
  Activation f = Activation::kTanh;
  std::string_view norm = {};
  bool bias = true, norm_bias = true;
};

struct HeadNames {
  Pooling pooling = Pooling::kFirst;
  Transform sequence;  // of the pooled row
  std::string_view sequence_out = "classifier";
  Transform token = {};
  std::string_view token_out = "classifier";
  Transform masked;
  std::string_view decoder;       // used unless config.json ties it to the word embeddings (the default)
  std::string_view decoder_bias;  // whole names; empty: none
};

// Adds the head that builder.model.head asks for, by setting builder.model.logits and labels. Published embedders often keep the
// name of a masked-LM architecture without its tensors: the head is then none.
void add_head(Builder& builder, const Config& config, const HeadNames& names);

}  // namespace v0
}  // namespace saccade
