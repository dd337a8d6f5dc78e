// An encoder of a published shape (the layout of BERT: post-norm, erf GELU) with generated weights, for demo and bench.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "saccade/graph.h"

namespace saccade::tool {

struct EncoderShape {
  int64_t layers = 6, width = 384, heads = 12, ffn = 1536;  // all-MiniLM-L6
};

// "minilm", "bert-base" or "LAYERS,WIDTH,HEADS,FFN". False with a reason in `error`.
bool parse_shape(const std::string& text, EncoderShape& shape, std::string& error);

using Floats = std::shared_ptr<const std::vector<float>>;

struct LayerWeights {
  Floats wq, wk, wv, wo, w1, w2;  // [in][out]
  Floats bq, bk, bv, bo, b1, b2;
  Floats gain1, shift1, gain2, shift2;  // layer norms after attention and after the feed-forward part
};

struct EncoderWeights {
  EncoderShape shape;
  int64_t vocabulary = 0, positions = 0;
  Floats words, places, types;  // embedding tables [vocabulary, width], [positions, width], [1, width]
  Floats gain, shift;
  std::vector<LayerWeights> layers;
};
inline constexpr float kNormEps = 1e-12f;
inline constexpr int64_t kVocabulary = 30522;  // of the published MiniLM and BERT models

// The same numbers on every machine. Variances are 1 / inputs, so that every activation is of the order of 1.
EncoderWeights generate_weights(const EncoderShape& shape, int64_t positions, uint32_t seed = 1);
// Ids of `tokens` tokens, all in the vocabulary.
std::vector<int32_t> generate_ids(int64_t tokens, uint32_t seed = 2);
// `sequences` lengths, spread evenly over `longest` / 16 .. longest; the first is the longest.
std::vector<int64_t> generate_lengths(int64_t sequences, int64_t longest, uint32_t seed = 3);

// ids "ids" -> "hidden" [tokens, width], and "vectors" [sequences, width]: mean pooling, length 1. The graph keeps the weights.
Graph encoder_graph(const EncoderWeights& weights);

// 2MNK of every linear and 4 H len^2 head_dim of every attention; nothing else counts.
double encoder_flops(const EncoderShape& shape, std::span<const int64_t> lengths);

// The same encoder for one sequence, in double with plain loops: [ids.size(), width].
std::vector<double> encoder_reference(const EncoderWeights& weights, std::span<const int32_t> ids);

}  // namespace saccade::tool
