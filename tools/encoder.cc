#include "tools/encoder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>

namespace saccade::tool {
namespace {

// std::mt19937 is specified bit for bit; the distributions of the standard library are not.
class Generator {
 public:
  explicit Generator(uint32_t seed) : engine_(seed) {}
  float uniform(float centre, float radius) {  // centre - radius .. centre + radius, in steps of radius / 2^23
    return centre + radius * (static_cast<float>(engine_() >> 8) * 0x1p-23f - 1.0f);
  }
  int64_t below(int64_t limit) { return static_cast<int64_t>(engine_()) * limit >> 32; }
  Floats floats(int64_t size, float centre, float radius) {
    auto values = std::make_shared<std::vector<float>>(static_cast<size_t>(size));
    for (float& value : *values) value = uniform(centre, radius);
    return values;
  }
  // Uniform with variance 1 / in.
  Floats weight(int64_t in, int64_t out) { return floats(in * out, 0.0f, std::sqrt(3.0f / static_cast<float>(in))); }

 private:
  std::mt19937 engine_;
};

Weight weight_of(const Floats& values, int64_t in, int64_t out, const char* name) {
  return Weight(values->data(), Dtype::kF32, in, out, Layout::kInOut, 0, values, name);
}
Vector vector_of(const Floats& values) { return Vector(values->data(), static_cast<int64_t>(values->size())); }
Table table_of(const Floats& values, int64_t rows, int64_t width, const char* name) {
  return Table(values->data(), Dtype::kF32, rows, width, 0, values, name);
}

}  // namespace

bool parse_shape(const std::string& text, EncoderShape& shape, std::string& error) {
  if (text == "minilm") {
    shape = {.layers = 6, .width = 384, .heads = 12, .ffn = 1536};
    return true;
  }
  if (text == "bert-base") {
    shape = {.layers = 12, .width = 768, .heads = 12, .ffn = 3072};
    return true;
  }
  constexpr int64_t kLimit = 1 << 20;  // products of two stay far below 2^63
  int64_t* const parts[] = {&shape.layers, &shape.width, &shape.heads, &shape.ffn};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (size_t i = 0; i < std::size(parts); ++i) {
    const auto [stop, code] = std::from_chars(at, end, *parts[i]);
    const bool last = i + 1 == std::size(parts);
    if (code != std::errc() || *parts[i] < 1 || *parts[i] > kLimit || (last ? stop != end : stop == end || *stop != ',')) {
      error = "expected minilm, bert-base or LAYERS,WIDTH,HEADS,FFN (four numbers from 1), got '" + text + "'";
      return false;
    }
    at = last ? stop : stop + 1;
  }
  if (shape.width % shape.heads != 0) {
    error = "width " + std::to_string(shape.width) + " does not divide into " + std::to_string(shape.heads) + " heads";
    return false;
  }
  return true;
}

EncoderWeights generate_weights(const EncoderShape& shape, int64_t positions, uint32_t seed) {
  Generator g(seed);
  const int64_t width = shape.width;
  EncoderWeights weights;
  weights.shape = shape;
  weights.vocabulary = kVocabulary;
  weights.positions = std::max<int64_t>(positions, 1);
  weights.words = g.floats(weights.vocabulary * width, 0.0f, 1.0f);
  weights.places = g.floats(weights.positions * width, 0.0f, 1.0f);
  weights.types = g.floats(width, 0.0f, 1.0f);
  const auto gain = [&] { return g.floats(width, 1.0f, 0.25f); };
  const auto shift = [&](int64_t size) { return g.floats(size, 0.0f, 0.25f); };
  weights.gain = gain(), weights.shift = shift(width);
  for (int64_t l = 0; l < shape.layers; ++l) {
    LayerWeights layer;
    layer.wq = g.weight(width, width), layer.bq = shift(width);
    layer.wk = g.weight(width, width), layer.bk = shift(width);
    layer.wv = g.weight(width, width), layer.bv = shift(width);
    layer.wo = g.weight(width, width), layer.bo = shift(width);
    layer.gain1 = gain(), layer.shift1 = shift(width);
    layer.w1 = g.weight(width, shape.ffn), layer.b1 = shift(shape.ffn);
    layer.w2 = g.weight(shape.ffn, width), layer.b2 = shift(width);
    layer.gain2 = gain(), layer.shift2 = shift(width);
    weights.layers.push_back(std::move(layer));
  }
  return weights;
}

std::vector<int32_t> generate_ids(int64_t tokens, uint32_t seed) {
  Generator g(seed);
  std::vector<int32_t> ids(static_cast<size_t>(tokens));
  for (int32_t& id : ids) id = static_cast<int32_t>(g.below(kVocabulary));
  return ids;
}

std::vector<int64_t> generate_lengths(int64_t sequences, int64_t longest, uint32_t seed) {
  Generator g(seed);
  const int64_t shortest = std::max<int64_t>(1, longest / 16);
  std::vector<int64_t> lengths(static_cast<size_t>(sequences), longest);
  for (size_t s = 1; s < lengths.size(); ++s) lengths[s] = shortest + g.below(longest - shortest + 1);
  return lengths;
}

Graph encoder_graph(const EncoderWeights& weights) {
  const auto [layers, width, heads, ffn] = weights.shape;
  Graph graph;
  Value x = graph.embedding({{.table = table_of(weights.words, weights.vocabulary, width, "words"), .ids = graph.ids("ids")},
                             {.table = table_of(weights.places, weights.positions, width, "places"), .ids = graph.positions()},
                             {.table = table_of(weights.types, 1, width, "types")}});
  x = graph.layer_norm(x, vector_of(weights.gain), vector_of(weights.shift), kNormEps);
  for (const LayerWeights& layer : weights.layers) {
    const Value q = graph.linear(x, weight_of(layer.wq, width, width, "query"), vector_of(layer.bq));
    const Value k = graph.linear(x, weight_of(layer.wk, width, width, "key"), vector_of(layer.bk));
    const Value v = graph.linear(x, weight_of(layer.wv, width, width, "value"), vector_of(layer.bv));
    const Value a = graph.attention(q, k, v, {.heads = heads});
    const Value o = graph.linear(a, weight_of(layer.wo, width, width, "output"), vector_of(layer.bo));
    x = graph.layer_norm(graph.add(o, x), vector_of(layer.gain1), vector_of(layer.shift1), kNormEps);
    const Value h =
        graph.activation(graph.linear(x, weight_of(layer.w1, width, ffn, "up"), vector_of(layer.b1)), Activation::kGelu);
    const Value y = graph.linear(h, weight_of(layer.w2, ffn, width, "down"), vector_of(layer.b2));
    x = graph.layer_norm(graph.add(y, x), vector_of(layer.gain2), vector_of(layer.shift2), kNormEps);
  }
  graph.output("hidden", x);
  graph.output("vectors", graph.l2_normalize(graph.pool(x, Pooling::kMean)));
  return graph;
}

double encoder_flops(const EncoderShape& shape, std::span<const int64_t> lengths) {
  const double width = static_cast<double>(shape.width), ffn = static_cast<double>(shape.ffn);
  double tokens = 0, pairs = 0;
  for (const int64_t length : lengths) {
    tokens += static_cast<double>(length);
    pairs += static_cast<double>(length) * static_cast<double>(length);
  }
  return static_cast<double>(shape.layers) * (2 * tokens * (4 * width * width + 2 * width * ffn) + 4 * width * pairs);
}

}  // namespace saccade::tool
