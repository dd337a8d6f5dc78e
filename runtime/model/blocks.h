// The parts that encoders are made of, by the names of their tensors (tensor_reader.h has the notation).
#pragma once

#include <optional>
#include <string_view>

#include "runtime/model/config.h"
#include "runtime/model/family.h"

namespace saccade {
inline namespace v0 {

// Tables without a name are not added.
struct EmbeddingNames {
  std::string_view word, position = {}, type = {}, norm;
};

struct AttentionNames {
  std::string_view fused = {};  // query, key and value, one after the other in one tensor
  std::string_view query, key, value, out;
  bool bias = true, out_bias = true;
};

// f(gate(x)) * up(x), then down. Without a gate: f(up(x)), then down.
struct FeedForwardNames {
  std::string_view fused = {};  // gate and up in one tensor
  bool up_first = false;        // the order in it
  std::string_view gate = {}, up, down;
  bool bias = true, down_bias = true;
};

struct LayerNames {
  AttentionNames attention;
  std::string_view attention_norm;
  FeedForwardNames ffn;
  std::string_view ffn_norm;
};

// How attention differs between families and layers.
struct AttentionKind {
  std::optional<RopeOptions> rope = {};
  AttentionOptions options = {};  // heads are those of the config
};

// Puts the sizes of the config into builder.model.
void describe(Builder& builder, const Config& config);

// norm(word[ids] + position[i + position_offset] + type[type_ids]), a norm without a bias where `norm_bias` is false. A table of
// types with one row is row 0 for every token. Sets max_tokens from the position table, or from the config without one, and
// type_ids.
Value embeddings(Builder& builder, const Config& config, const EmbeddingNames& names, int64_t position_offset = 0,
                 bool norm_bias = true);

Value normalize(Builder& builder, const Config& config, Value x, std::string_view names, int64_t layer = 0, bool bias = true);
Value linear(Builder& builder, Value x, std::string_view names, int64_t layer, int64_t in, int64_t out, bool bias = true);
Value attention(Builder& builder, const Config& config, Value x, const AttentionNames& names, int64_t layer,
                const AttentionKind& kind);
Value feed_forward(Builder& builder, const Config& config, Value x, const FeedForwardNames& names, int64_t layer);

// All layers as BERT has them: x = norm(x + attention(x)), x = norm(x + feed_forward(x)). Sets builder.model.hidden.
void post_norm_layers(Builder& builder, const Config& config, Value x, const LayerNames& names, const AttentionKind& kind = {});

}  // namespace v0
}  // namespace saccade
