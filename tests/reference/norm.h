#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/kernels.h"

namespace saccade::reference {

// layer  y = (t - mean) / sqrt(var + eps) gain + bias        rms  y = t / sqrt(mean(t^2) + eps) gain + bias        t = x +
// residual t is rounded to float as `sum` is. y is [rows][width].
inline std::vector<double> norm(const kernels::NormArgs& args) {
  std::vector<double> y(args.rows * args.width);
  for (size_t r = 0; r < args.rows; ++r) {
    std::vector<double> t(args.width);
    for (size_t j = 0; j < args.width; ++j) {
      t[j] = args.x[r * args.x_stride + j] + (args.residual ? args.residual[r * args.residual_stride + j] : 0.0f);
    }
    const double count = static_cast<double>(args.width);
    double mean = 0, variance = 0;
    if (!args.rms) {
      for (double v : t) mean += v / count;
    }
    for (double v : t) variance += (v - mean) * (v - mean) / count;
    for (size_t j = 0; j < args.width; ++j) {
      const double v = (t[j] - mean) / std::sqrt(variance + static_cast<double>(args.eps));
      y[r * args.width + j] = v * (args.gain ? args.gain[j] : 1.0f) + (args.bias ? args.bias[j] : 0.0f);
    }
  }
  return y;
}

// y = x / max(|x|, eps)
inline std::vector<double> l2_normalize(const kernels::L2NormalizeArgs& args) {
  std::vector<double> y(args.rows * args.width);
  for (size_t r = 0; r < args.rows; ++r) {
    const float* x = args.x + r * args.x_stride;
    double squares = 0;
    for (size_t j = 0; j < args.width; ++j) squares += static_cast<double>(x[j]) * x[j];
    for (size_t j = 0; j < args.width; ++j) y[r * args.width + j] = x[j] / std::max<double>(std::sqrt(squares), args.eps);
  }
  return y;
}

}  // namespace saccade::reference
