// A transformer encoder as a graph, with seeded weights: BERT's form (learned positions, norm after the residual, GELU) and the
// modern one (RoPE, norm before, gated, grouped heads, causal). tests/reference/encoder.h computes the same in double.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "saccade/saccade.h"
#include "tests/support/random.h"

namespace saccade::test {

struct EncoderShape {
  int64_t layers = 2, width = 32, heads = 4, kv_heads = 4, ffn = 64;
  int64_t vocabulary = 50, positions = 64;
  bool modern = false;
};

struct LinearWeights {
  int64_t in = 0, out = 0;
  std::vector<float> w;     // [in][out], or [out][in] where `transposed`
  std::vector<float> bias;  // may be empty
  bool transposed = false;
  float at(int64_t i, int64_t j) const { return w[static_cast<size_t>(transposed ? j * in + i : i * out + j)]; }
  Weight weight() const { return {w.data(), in, out, transposed ? Layout::kOutIn : Layout::kInOut}; }
  Vector vector() const { return bias.empty() ? Vector() : Vector(bias.data(), out); }
};

struct EncoderLayer {
  LinearWeights q, k, v, o, up, gate, down;
  std::vector<float> gain1, bias1, gain2, bias2;
};

struct EncoderWeights {
  EncoderShape shape;
  std::vector<float> words, places, types;  // [vocabulary], [positions], [2] x width
  std::vector<float> gain, bias;            // after the embedding (BERT), or after the last layer (modern)
  std::vector<EncoderLayer> layers;
};

inline std::vector<float> random_vector(Random& random, int64_t size, float middle, float spread) {
  std::vector<float> v(static_cast<size_t>(size));
  for (float& x : v) x = middle + spread * random.normal();
  return v;
}

inline LinearWeights random_linear(Random& random, int64_t in, int64_t out, bool bias, bool transposed) {
  LinearWeights linear{in, out, {}, {}, transposed};
  linear.w = random_vector(random, in * out, 0, 1 / std::sqrt(static_cast<float>(in)));
  if (bias) linear.bias = random_vector(random, out, 0, 0.1f);
  return linear;
}

inline EncoderWeights random_encoder(const EncoderShape& shape, uint32_t seed) {
  Random random(seed);
  EncoderWeights e;
  e.shape = shape;
  const int64_t w = shape.width, kv = w / shape.heads * shape.kv_heads;
  e.words = random_vector(random, shape.vocabulary * w, 0, 1);
  e.places = random_vector(random, shape.positions * w, 0, 0.5f);
  e.types = random_vector(random, 2 * w, 0, 0.5f);
  e.gain = random_vector(random, w, 1, 0.1f);
  e.bias = random_vector(random, w, 0, 0.1f);
  for (int64_t l = 0; l < shape.layers; ++l) {
    const bool bias = !shape.modern;
    EncoderLayer layer;
    layer.q = random_linear(random, w, w, bias, true);
    layer.k = random_linear(random, w, kv, bias, true);
    layer.v = random_linear(random, w, kv, bias, false);
    layer.o = random_linear(random, w, w, bias, true);
    layer.up = random_linear(random, w, shape.ffn, bias, true);
    if (shape.modern) layer.gate = random_linear(random, w, shape.ffn, bias, false);
    layer.down = random_linear(random, shape.ffn, w, bias, false);
    layer.gain1 = random_vector(random, w, 1, 0.1f);
    layer.bias1 = random_vector(random, w, 0, 0.1f);
    layer.gain2 = random_vector(random, w, 1, 0.1f);
    layer.bias2 = random_vector(random, w, 0, 0.1f);
    e.layers.push_back(std::move(layer));
  }
  return e;
}

struct EncoderOptions {
  bool tokens = true;   // output "tokens" [tokens, width]
  bool pooled = false;  // output "pooled" [sequences, width]
  Pooling pooling = Pooling::kMean;
  bool normalize = true;    // pooled rows have length 1
  bool all_values = false;  // every intermediate is an output "v0", "v1", ...: nothing can be fused
};

// Inputs: "ids"; positions come from the batch. The weights must outlive the graph.
inline Graph encoder_graph(const EncoderWeights& e, const EncoderOptions& options) {
  const EncoderShape& shape = e.shape;
  const int64_t w = shape.width;
  constexpr float kNormEps = 1e-6f;
  Graph g;
  int count = 0;
  const auto seen = [&](Value value) {
    if (options.all_values) g.output("v" + std::to_string(count++), value);
    return value;
  };
  const auto vector = [](const std::vector<float>& v) { return Vector(v.data(), static_cast<int64_t>(v.size())); };
  const auto norm = [&](Value x, const std::vector<float>& gain, const std::vector<float>& bias) {
    return seen(shape.modern ? g.rms_norm(x, vector(gain), kNormEps) : g.layer_norm(x, vector(gain), vector(bias), kNormEps));
  };
  const auto linear = [&](Value x, const LinearWeights& l) { return seen(g.linear(x, l.weight(), l.vector())); };

  const Value ids = g.ids("ids");
  const Table words(e.words.data(), shape.vocabulary, w), places(e.places.data(), shape.positions, w),
      types(e.types.data(), 2, w);
  Value x;
  if (shape.modern) {
    x = seen(g.embedding({{.table = words, .ids = ids}}));
  } else {
    x = seen(g.embedding(
        {{.table = words, .ids = ids}, {.table = places, .ids = g.positions(), .offset = 2}, {.table = types, .offset = 1}}));
    x = norm(x, e.gain, e.bias);
  }
  for (const EncoderLayer& layer : e.layers) {
    const Value a = shape.modern ? norm(x, layer.gain1, layer.bias1) : x;
    Value q = linear(a, layer.q), k = linear(a, layer.k);
    const Value v = linear(a, layer.v);
    AttentionOptions attention{.heads = shape.heads, .kv_heads = shape.kv_heads};
    if (shape.modern) {
      q = seen(g.rope(q, {.heads = shape.heads, .max_positions = shape.positions}));
      k = seen(g.rope(k, {.heads = shape.kv_heads, .max_positions = shape.positions}));
      attention.causal = Causal::kTopLeft;
    }
    const Value heads = seen(g.attention(q, k, v, attention));
    x = seen(g.add(linear(heads, layer.o), x));
    if (!shape.modern) x = norm(x, layer.gain1, layer.bias1);
    const Value f = shape.modern ? norm(x, layer.gain2, layer.bias2) : x;
    Value hidden;
    if (shape.modern) {
      hidden = seen(g.gated(linear(f, layer.gate), linear(f, layer.up), Activation::kSilu));
    } else {
      hidden = seen(g.activation(linear(f, layer.up), Activation::kGelu));
    }
    x = seen(g.add(linear(hidden, layer.down), x));
    if (!shape.modern) x = norm(x, layer.gain2, layer.bias2);
  }
  if (shape.modern) x = norm(x, e.gain, e.bias);
  if (options.tokens) g.output("tokens", x);
  if (options.pooled) {
    Value pooled = seen(g.pool(x, options.pooling));
    if (options.normalize) pooled = g.l2_normalize(pooled);
    g.output("pooled", pooled);
  }
  return g;
}

}  // namespace saccade::test
