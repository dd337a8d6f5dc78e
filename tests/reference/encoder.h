// The encoder of tests/support/encoder.h for one sequence, in double, loop by loop. The specification of a whole plan.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/reference/math.h"
#include "tests/support/encoder.h"

namespace saccade::reference {

struct Rows {
  int64_t rows = 0, width = 0;
  std::vector<double> x;
  Rows(int64_t rows_, int64_t width_) : rows(rows_), width(width_), x(static_cast<size_t>(rows_ * width_)) {}
  double& operator()(int64_t r, int64_t j) { return x[static_cast<size_t>(r * width + j)]; }
  double operator()(int64_t r, int64_t j) const { return x[static_cast<size_t>(r * width + j)]; }
};

// y = x W + bias
inline Rows linear(const Rows& x, const test::LinearWeights& l) {
  Rows y(x.rows, l.out);
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t j = 0; j < l.out; ++j) {
      double sum = l.bias.empty() ? 0 : l.bias[static_cast<size_t>(j)];
      for (int64_t i = 0; i < l.in; ++i) sum += x(r, i) * l.at(i, j);
      y(r, j) = sum;
    }
  }
  return y;
}

inline Rows add(const Rows& a, const Rows& b) {
  Rows y = a;
  for (size_t i = 0; i < y.x.size(); ++i) y.x[i] += b.x[i];
  return y;
}

// Layer norm, or RMS norm (no mean, no bias).
inline Rows norm(const Rows& x, const std::vector<float>& gain, const std::vector<float>& bias, bool rms, double eps) {
  Rows y(x.rows, x.width);
  for (int64_t r = 0; r < x.rows; ++r) {
    double mean = 0, squares = 0;
    for (int64_t j = 0; j < x.width && !rms; ++j) mean += x(r, j) / static_cast<double>(x.width);
    for (int64_t j = 0; j < x.width; ++j) squares += (x(r, j) - mean) * (x(r, j) - mean) / static_cast<double>(x.width);
    for (int64_t j = 0; j < x.width; ++j) {
      const size_t c = static_cast<size_t>(j);
      y(r, j) = (x(r, j) - mean) / std::sqrt(squares + eps) * gain[c] + (rms ? 0 : bias[c]);
    }
  }
  return y;
}

// Pairs (i, i + head_dim / 2) of each head, rotated by position * 10000^(-2i / head_dim).
inline Rows rope(const Rows& x, int64_t heads) {
  Rows y = x;
  const int64_t dim = x.width / heads;
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = 0; i < dim / 2; ++i) {
        const double angle = static_cast<double>(r) * std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
        const double a = x(r, h * dim + i), b = x(r, h * dim + i + dim / 2);
        y(r, h * dim + i) = a * std::cos(angle) - b * std::sin(angle);
        y(r, h * dim + i + dim / 2) = b * std::cos(angle) + a * std::sin(angle);
      }
    }
  }
  return y;
}

// softmax(q k^T / sqrt(dim)) v, head by head.
inline Rows attention(const Rows& q, const Rows& k, const Rows& v, int64_t heads, int64_t kv_heads, bool causal) {
  const int64_t dim = q.width / heads, value_dim = v.width / kv_heads;
  Rows y(q.rows, heads * value_dim);
  for (int64_t h = 0; h < heads; ++h) {
    const int64_t g = h / (heads / kv_heads);
    for (int64_t i = 0; i < q.rows; ++i) {
      const int64_t keys = causal ? std::min(k.rows, i + 1) : k.rows;
      std::vector<double> score(static_cast<size_t>(keys));
      double most = -INFINITY, sum = 0;
      for (int64_t j = 0; j < keys; ++j) {
        double& s = score[static_cast<size_t>(j)];
        for (int64_t c = 0; c < dim; ++c) s += q(i, h * dim + c) * k(j, g * dim + c);
        s /= std::sqrt(static_cast<double>(dim));
        most = std::max(most, s);
      }
      for (double& s : score) sum += s = std::exp(s - most);
      for (int64_t c = 0; c < value_dim; ++c) {
        for (int64_t j = 0; j < keys; ++j)
          y(i, h * value_dim + c) += score[static_cast<size_t>(j)] / sum * v(j, g * value_dim + c);
      }
    }
  }
  return y;
}

// Hidden rows of one sequence of token ids.
inline Rows encoder(const test::EncoderWeights& e, const std::vector<int32_t>& ids) {
  const test::EncoderShape& shape = e.shape;
  const int64_t w = shape.width;
  constexpr double kEps = 1e-6f;
  Rows x(static_cast<int64_t>(ids.size()), w);
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t j = 0; j < w; ++j) {
      x(r, j) = e.words[static_cast<size_t>(ids[static_cast<size_t>(r)] * w + j)];
      if (!shape.modern) x(r, j) += double{e.places[static_cast<size_t>((r + 2) * w + j)]} + e.types[static_cast<size_t>(w + j)];
    }
  }
  if (!shape.modern) x = norm(x, e.gain, e.bias, false, kEps);
  for (const test::EncoderLayer& layer : e.layers) {
    const Rows a = shape.modern ? norm(x, layer.gain1, layer.bias1, true, kEps) : x;
    Rows q = linear(a, layer.q), k = linear(a, layer.k);
    if (shape.modern) q = rope(q, shape.heads), k = rope(k, shape.kv_heads);
    const Rows heads = attention(q, k, linear(a, layer.v), shape.heads, shape.kv_heads, shape.modern);
    x = add(linear(heads, layer.o), x);
    if (!shape.modern) x = norm(x, layer.gain1, layer.bias1, false, kEps);
    const Rows f = shape.modern ? norm(x, layer.gain2, layer.bias2, true, kEps) : x;
    Rows hidden = linear(f, layer.up);
    const Rows gate = shape.modern ? linear(f, layer.gate) : Rows(0, 0);
    for (size_t i = 0; i < hidden.x.size(); ++i) {
      hidden.x[i] = shape.modern ? silu(gate.x[i]) * hidden.x[i] : gelu_erf(hidden.x[i]);
    }
    x = add(linear(hidden, layer.down), x);
    if (!shape.modern) x = norm(x, layer.gain2, layer.bias2, false, kEps);
  }
  if (shape.modern) x = norm(x, e.gain, e.bias, true, kEps);
  return x;
}

// One row for the sequence; zeros without tokens. Of length 1 when normalised.
inline std::vector<double> pooled(const Rows& x, Pooling kind, bool normalize) {
  std::vector<double> y(static_cast<size_t>(x.width));
  for (int64_t j = 0; j < x.width && x.rows > 0; ++j) {
    double& out = y[static_cast<size_t>(j)];
    out = kind == Pooling::kLast ? x(x.rows - 1, j) : x(0, j);
    for (int64_t r = 1; r < x.rows; ++r) {
      if (kind == Pooling::kMean) out += x(r, j);
      if (kind == Pooling::kMax) out = std::max(out, x(r, j));
    }
    if (kind == Pooling::kMean) out /= static_cast<double>(x.rows);
  }
  double length = 0;
  for (double v : y) length += v * v;
  for (double& v : y) v /= normalize ? std::max(std::sqrt(length), 1e-12) : 1;
  return y;
}

}  // namespace saccade::reference
