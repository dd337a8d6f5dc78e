#include "runtime/model/blocks.h"

#include <array>

#include "runtime/graph/check.h"

namespace saccade {
inline namespace v0 {

void describe(Builder& builder, const Config& config) {
  ModelGraph& model = builder.model;
  model.layers = config.layers, model.width = config.width, model.heads = config.heads, model.ffn = config.ffn;
  model.vocabulary = config.vocabulary;
}

Value embeddings(Builder& builder, const Config& config, const EmbeddingNames& names, int64_t position_offset, bool norm_bias) {
  Graph& graph = builder.model.graph;
  builder.words = builder.tensors.table(names.word, config.vocabulary, config.width);
  builder.model.max_tokens = config.positions;
  std::vector<Lookup> lookups = {{builder.words, graph.ids("ids")}};
  if (!names.position.empty()) {
    builder.model.max_tokens = config.positions - position_offset;
    if (builder.model.max_tokens < 1) {
      fail(Code::kCorruptData, builder.json.where(), ": ", config.positions, " positions, expected more than the ",
           position_offset, " that padding takes");
    }
    lookups.push_back(
        {builder.tensors.table(names.position, config.positions, config.width), graph.positions(), position_offset});
  }
  if (!names.type.empty() && config.types > 0) {
    builder.model.type_ids = config.types > 1;
    lookups.push_back({builder.tensors.table(names.type, config.types, config.width),
                       builder.model.type_ids ? graph.ids("type_ids") : Value()});
  }
  return normalize(builder, config, graph.embedding(lookups), names.norm, 0, norm_bias);
}

Value normalize(Builder& builder, const Config& config, Value x, std::string_view names, int64_t layer, bool bias) {
  const Norm norm = builder.tensors.norm(names, layer, config.width, bias);
  return builder.model.graph.layer_norm(x, norm.gain, norm.bias, config.eps);
}

Value linear(Builder& builder, Value x, std::string_view names, int64_t layer, int64_t in, int64_t out, bool bias) {
  const Linear linear = builder.tensors.linear(names, layer, in, out, bias);
  return builder.model.graph.linear(x, linear.weight, linear.bias);
}

Value attention(Builder& builder, const Config& config, Value x, const AttentionNames& names, int64_t layer,
                const AttentionKind& kind) {
  Graph& graph = builder.model.graph;
  const std::string_view parts[] = {names.query, names.key, names.value};
  std::array<Value, 3> qkv;
  const auto linears = builder.tensors.linears(names.fused, parts, layer, config.width, config.width, names.bias);
  for (size_t i = 0; i < qkv.size(); ++i) qkv[i] = graph.linear(x, linears[i].weight, linears[i].bias);
  if (kind.rope) {
    qkv[0] = graph.rope(qkv[0], *kind.rope);
    qkv[1] = graph.rope(qkv[1], *kind.rope);
  }
  AttentionOptions options = kind.options;
  options.heads = config.heads;
  const Value context = graph.attention(qkv[0], qkv[1], qkv[2], options);
  return linear(builder, context, names.out, layer, config.width, config.width, names.out_bias);
}

Value feed_forward(Builder& builder, const Config& config, Value x, const FeedForwardNames& names, int64_t layer) {
  Graph& graph = builder.model.graph;
  Value inner;
  if (names.gate.empty() && names.fused.empty()) {
    inner = graph.activation(linear(builder, x, names.up, layer, config.width, config.ffn, names.bias), config.activation);
  } else {
    const std::string_view parts[] = {names.up_first ? names.up : names.gate, names.up_first ? names.gate : names.up};
    const auto linears = builder.tensors.linears(names.fused, parts, layer, config.width, config.ffn, names.bias);
    std::array<Value, 2> halves;
    for (size_t i = 0; i < halves.size(); ++i) halves[i] = graph.linear(x, linears[i].weight, linears[i].bias);
    inner = graph.gated(halves[names.up_first ? 1 : 0], halves[names.up_first ? 0 : 1], config.activation);
  }
  return linear(builder, inner, names.down, layer, config.ffn, config.width, names.down_bias);
}

void post_norm_layers(Builder& builder, const Config& config, Value x, const LayerNames& names, const AttentionKind& kind) {
  Graph& graph = builder.model.graph;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const Value attended = attention(builder, config, x, names.attention, layer, kind);
    x = normalize(builder, config, graph.add(attended, x), names.attention_norm, layer);
    const Value fed = feed_forward(builder, config, x, names.ffn, layer);
    x = normalize(builder, config, graph.add(fed, x), names.ffn_norm, layer);
  }
  builder.model.hidden = x;
}

}  // namespace v0
}  // namespace saccade
