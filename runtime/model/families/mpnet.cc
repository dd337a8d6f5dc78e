// MPNet: BERT's layers without token types, positions that count from 2, and one table of relative position biases for all
// layers. Song et al. 2020; the buckets of the biases are those of T5, Raffel et al. 2019.
#include <algorithm>
#include <cmath>

#include "runtime/graph/widen.h"
#include "runtime/model/families/names.h"

namespace saccade {
inline namespace v0 {
namespace {

constexpr LayerNames kMpnetLayer = {
    .attention = {.query = "encoder.layer.#.attention.attn.q",
                  .key = "encoder.layer.#.attention.attn.k",
                  .value = "encoder.layer.#.attention.attn.v",
                  .out = "encoder.layer.#.attention.attn.o"},
    .attention_norm = "encoder.layer.#.attention.LayerNorm",
    .ffn = kBertLayer.ffn,
    .ffn_norm = kBertLayer.ffn_norm,
};
constexpr EmbeddingNames kMpnetEmbeddings = {
    .word = kBertEmbeddings.word,
    .position = kBertEmbeddings.position,
    .norm = kBertEmbeddings.norm,
};

constexpr int64_t kPositionOffset = 2;  // fixed, whatever the padding id
constexpr int64_t kBuckets = 32;
constexpr int64_t kMaxDistance = 128;  // all keys further away share a bucket

// Half of the buckets for keys behind the query and half for keys after it; in each half, the first half one distance each, the
// rest in steps that grow with the logarithm, in float32 as the published implementation computes them.
int64_t bucket(int64_t distance) {  // key - query
  constexpr int64_t half = kBuckets / 2, exact = half / 2;
  const int64_t side = distance > 0 ? half : 0;
  const int64_t n = std::abs(distance);
  if (n < exact) return side + n;
  const float octaves = std::log(static_cast<float>(n) / exact) / std::log(static_cast<float>(kMaxDistance / exact));
  return side + std::min(exact + static_cast<int64_t>(octaves * (half - exact)), half - 1);
}

// AttentionOptions::relative_bias of the table [kBuckets, heads].
std::vector<float> relative_bias(const Table& table) {
  std::vector<float> bias;
  for (int64_t head = 0; head < table.width; ++head) {
    for (int64_t distance = -kMaxDistance; distance <= kMaxDistance; ++distance) {
      bias.push_back(widen(table.data, table.dtype, bucket(distance) * table.width + head));
    }
  }
  return bias;
}

}  // namespace

void build_mpnet(Builder& builder) {
  if (const Json buckets = builder.json.find("relative_attention_num_buckets")) (void)buckets.integer(kBuckets, kBuckets);
  const Config config = read_config(builder.json, {.vocabulary = 30527, .padding_id = 1});
  describe(builder, config);
  const auto bias = relative_bias(builder.tensors.table("encoder.relative_attention_bias", kBuckets, config.heads));
  const AttentionKind kind = {.options = {.relative_bias = {bias.data(), static_cast<int64_t>(bias.size())}}};
  post_norm_layers(builder, config, embeddings(builder, config, kMpnetEmbeddings, kPositionOffset), kMpnetLayer, kind);
  add_head(builder, config, kRobertaHeads);
}

}  // namespace v0
}  // namespace saccade
