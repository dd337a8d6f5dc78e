// The encoder of encoder.h for one sequence, written as its formulas, in double. Rows are matrices [rows][width] in one vector.
#include <algorithm>
#include <cmath>

#include "tools/encoder.h"

namespace saccade::tool {
namespace {

using Rows = std::vector<double>;

Rows linear(const Rows& x, const Floats& w, const Floats& bias) {
  const size_t out = bias->size(), in = w->size() / out, rows = x.size() / in;
  Rows y(rows * out);
  for (size_t r = 0; r < rows; ++r) {
    double* row = &y[r * out];
    std::copy(bias->begin(), bias->end(), row);
    for (size_t i = 0; i < in; ++i) {
      for (size_t j = 0; j < out; ++j) row[j] += x[r * in + i] * static_cast<double>((*w)[i * out + j]);
    }
  }
  return y;
}

Rows add(Rows a, const Rows& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

Rows layer_norm(Rows x, const Floats& gain, const Floats& shift) {
  const size_t width = gain->size();
  for (size_t r = 0; r < x.size() / width; ++r) {
    double* row = &x[r * width];
    double mean = 0, variance = 0;
    for (size_t c = 0; c < width; ++c) mean += row[c] / static_cast<double>(width);
    for (size_t c = 0; c < width; ++c) variance += (row[c] - mean) * (row[c] - mean) / static_cast<double>(width);
    const double scale = 1 / std::sqrt(variance + static_cast<double>(kNormEps));
    for (size_t c = 0; c < width; ++c) {
      row[c] = (row[c] - mean) * scale * static_cast<double>((*gain)[c]) + static_cast<double>((*shift)[c]);
    }
  }
  return x;
}

Rows gelu(Rows x) {
  for (double& value : x) value *= 0.5 * std::erfc(-value * std::sqrt(0.5));
  return x;
}

Rows attention(const Rows& q, const Rows& k, const Rows& v, size_t width, size_t heads) {
  const size_t length = q.size() / width, dim = width / heads;
  Rows y(q.size());
  std::vector<double> weight(length);
  for (size_t h = 0; h < heads; ++h) {
    for (size_t i = 0; i < length; ++i) {
      double sum = 0, largest = -INFINITY;
      for (size_t j = 0; j < length; ++j) {
        double dot = 0;
        for (size_t c = h * dim; c < (h + 1) * dim; ++c) dot += q[i * width + c] * k[j * width + c];
        weight[j] = dot / std::sqrt(static_cast<double>(dim));
        largest = std::max(largest, weight[j]);
      }
      for (double& w : weight) sum += w = std::exp(w - largest);
      for (size_t j = 0; j < length; ++j) {
        for (size_t c = h * dim; c < (h + 1) * dim; ++c) y[i * width + c] += weight[j] / sum * v[j * width + c];
      }
    }
  }
  return y;
}

}  // namespace

std::vector<double> encoder_reference(const EncoderWeights& weights, std::span<const int32_t> ids) {
  const size_t width = static_cast<size_t>(weights.shape.width), heads = static_cast<size_t>(weights.shape.heads);
  Rows x(ids.size() * width);
  for (size_t t = 0; t < ids.size(); ++t) {
    for (size_t c = 0; c < width; ++c) {
      x[t * width + c] = static_cast<double>((*weights.words)[static_cast<size_t>(ids[t]) * width + c]) +
                         static_cast<double>((*weights.places)[t * width + c]) + static_cast<double>((*weights.types)[c]);
    }
  }
  x = layer_norm(std::move(x), weights.gain, weights.shift);
  for (const LayerWeights& l : weights.layers) {
    const Rows a = attention(linear(x, l.wq, l.bq), linear(x, l.wk, l.bk), linear(x, l.wv, l.bv), width, heads);
    x = layer_norm(add(linear(a, l.wo, l.bo), x), l.gain1, l.shift1);
    x = layer_norm(add(linear(gelu(linear(x, l.w1, l.b1)), l.w2, l.b2), x), l.gain2, l.shift2);
  }
  return x;
}

}  // namespace saccade::tool
