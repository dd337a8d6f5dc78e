#pragma once

#include <vector>

#include "kernels/kernels.h"

namespace saccade::reference {

// y1 = x1 cos - x2 sin, y2 = x2 cos + x1 sin; pairs (i, i + rotary_dim / 2), or (2i, 2i + 1) when interleaved; the rest is
// copied. y is [rows][heads * head_dim].
inline std::vector<double> rope(const kernels::RopeArgs& args) {
  const size_t half = args.rotary_dim / 2, width = args.heads * args.head_dim;
  std::vector<double> y(args.rows * width);
  for (size_t r = 0; r < args.rows; ++r) {
    const size_t position = static_cast<size_t>(args.positions[r]);
    for (size_t h = 0; h < args.heads; ++h) {
      const float* x = args.x + r * args.x_stride + h * args.head_dim;
      double* out = y.data() + r * width + h * args.head_dim;
      for (size_t c = 0; c < args.head_dim; ++c) out[c] = static_cast<double>(x[c]);
      for (size_t i = 0; i < half; ++i) {
        const double cos = static_cast<double>(args.cos[position * half + i]),
                     sin = static_cast<double>(args.sin[position * half + i]);
        const size_t a = args.interleaved ? 2 * i : i, b = args.interleaved ? 2 * i + 1 : i + half;
        const double x1 = static_cast<double>(x[a]), x2 = static_cast<double>(x[b]);
        out[a] = x1 * cos - x2 * sin;
        out[b] = x2 * cos + x1 * sin;
      }
    }
  }
  return y;
}

}  // namespace saccade::reference
