// The model families: which architectures each one builds, and how. A family is one file under families/: a table of names, the
// defaults of its class, and calls of the blocks that it is made of (blocks.h, heads.h).
#pragma once

#include <string_view>

#include "runtime/model/json.h"
#include "runtime/model/tensor_reader.h"
#include "saccade/encoder.h"

namespace saccade {
inline namespace v0 {

// What a family builds with and fills in: graph, hidden, logits, head, type_ids, sizes, max_tokens, labels of the model.
struct Builder {
  const Json& json;  // config.json
  TensorReader& tensors;
  ModelGraph& model;
  Table words = {};  // the word embeddings, for a decoder that is tied to them
};

// Lists are separated by '|'.
struct Family {
  std::string_view name;
  std::string_view model_types;  // of config.json
  std::string_view classes;      // what names of architectures begin with
  std::string_view prefixes;     // of tensor names
  void (*build)(Builder&);
};

void build_bert(Builder& builder);
void build_distilbert(Builder& builder);
void build_roberta(Builder& builder);
void build_mpnet(Builder& builder);
void build_modernbert(Builder& builder);
void build_nomic_bert(Builder& builder);
void build_gte(Builder& builder);

}  // namespace v0
}  // namespace saccade
