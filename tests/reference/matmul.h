// matmul as kernels/kernels.h states it: the formula in double, and its order of summation in float, bit for bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/kernels.h"

namespace saccade::test {

// w[i][j] of either layout.
struct WeightView {
  const float* data;
  size_t in_stride, out_stride;
  float operator()(size_t i, size_t j) const { return data[i * in_stride + j * out_stride]; }
};

inline double reference_unary(kernels::Unary f, double x) {
  using kernels::Unary;
  switch (f) {
    case Unary::kIdentity:
      return x;
    case Unary::kRelu:
      return x > 0 || std::isnan(x) ? x : 0;
    case Unary::kGeluErf:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Unary::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Unary::kSilu:
      return x / (1 + std::exp(-x));
    case Unary::kTanh:
      return std::tanh(x);
    case Unary::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Unary::kErf:
      return std::erf(x);
    case Unary::kExp2:
      return std::exp2(x);
  }
  return NAN;
}

struct MatmulResult {
  double value = 0;      // activation(t + bias) + residual
  double magnitude = 0;  // sum |a| |w|
  float sum = 0;         // t + bias, in float and in the kernel's order
};

// Element (r, j) of matmul(args) for weight w.
inline MatmulResult reference_matmul(const kernels::MatmulArgs& args, WeightView w, size_t r, size_t j, bool has_fma) {
  MatmulResult result;
  double t = 0;
  for (size_t i = 0; i < args.k; ++i) {
    const double product = double{args.a[r * args.a_stride + i]} * w(i, j);
    t += product;
    result.magnitude += std::fabs(product);
  }
  if (args.bias != nullptr) t += args.bias[j];
  result.value = reference_unary(args.activation, t);
  if (args.residual != nullptr) result.value += args.residual[r * args.residual_stride + j];

  const size_t chunks = args.k <= 1024 ? 1 : (args.k + 511) / 512;
  const size_t chunk = (args.k + chunks - 1) / chunks;
  for (size_t c = 0; c < chunks; ++c) {
    const size_t begin = c * chunk, end = std::min(args.k, (c + 1) * chunk), count = end - begin;
    const size_t middle = count <= 256 ? end : begin + (count / 2 + 1) / 2 * 2;
    float chains[2] = {0, 0};
    for (size_t i = begin; i < end; ++i) {
      const float x = args.a[r * args.a_stride + i];
      float& chain = chains[i < middle ? 0 : 1];
      chain = has_fma ? std::fma(x, w(i, j), chain) : chain + x * w(i, j);
    }
    const float both = middle < end ? chains[0] + chains[1] : chains[0];
    result.sum = c == 0 ? both : result.sum + both;
  }
  if (args.bias != nullptr) result.sum += args.bias[j];
  return result;
}

}  // namespace saccade::test
