#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/kernels.h"

namespace saccade::reference {

// y[r][j] = exp(scale (x[r][j] - max)) / sum for j < length(r), 0 behind. y is [rows][width].
inline std::vector<double> softmax(const kernels::SoftmaxArgs& args) {
  std::vector<double> y(args.rows * args.width, 0.0);
  for (size_t r = 0; r < args.rows; ++r) {
    const float* x = args.x + r * args.x_stride;
    const size_t length = args.lengths ? static_cast<size_t>(args.lengths[r]) : args.width;
    double largest = -INFINITY, sum = 0;
    for (size_t j = 0; j < length; ++j) largest = std::max<double>(largest, x[j]);
    for (size_t j = 0; j < length; ++j) sum += std::exp(static_cast<double>(args.scale) * (x[j] - largest));
    for (size_t j = 0; j < length; ++j)
      y[r * args.width + j] = std::exp(static_cast<double>(args.scale) * (x[j] - largest)) / sum;
  }
  return y;
}

}  // namespace saccade::reference
