// Rotary position embedding.
#pragma once

#include "kernels/generic/columns.h"
#include "kernels/kernels.h"

namespace saccade::kernels {
namespace {

// Pairs (i, i + half).
template <class Arch>
SACCADE_INLINE void rotate_halves(const float* x, const float* cos, const float* sin, size_t half, float* y) {
  using V = Vec<float, Arch>;
  for_columns<Arch>(0, half, [&](size_t i, auto lanes) SACCADE_LAMBDA {
    const V x1 = lanes.load(x + i), x2 = lanes.load(x + half + i), c = lanes.load(cos + i), s = lanes.load(sin + i);
    lanes.store(y + i, fnma<Arch>(x2, s, x1 * c));
    lanes.store(y + half + i, fma<Arch>(x1, s, x2 * c));
  });
}

// Pairs (2i, 2i + 1): the partner lies in the neighbouring lane, and the sine's sign alternates.
template <class Arch>
SACCADE_INLINE void rotate_pairs(const float* x, const float* cos, const float* sin, size_t half, float* y) {
  using V = Vec<float, Arch>;
  constexpr size_t kPairs = kLanes<Arch> / 2;
  for_columns<Arch>(0, 2 * half, [&](size_t j, auto lanes) SACCADE_LAMBDA {
    const size_t left = half - j / 2, pairs = left < kPairs ? left : kPairs;
    const V c = double_lanes<Arch>(load_first<Arch>(cos + j / 2, pairs));
    const V s = negate_even<Arch>(double_lanes<Arch>(load_first<Arch>(sin + j / 2, pairs)));
    const V v = lanes.load(x + j);
    lanes.store(y + j, fma<Arch>(swap_pairs<Arch>(v), s, v * c));
  });
}

template <class Arch>
void rope(const RopeArgs& args) {
  const size_t half = args.rotary_dim / 2;
  for (size_t r = 0; r < args.rows; ++r) {
    const float* cos = args.cos + static_cast<size_t>(args.positions[r]) * half;
    const float* sin = args.sin + static_cast<size_t>(args.positions[r]) * half;
    for (size_t h = 0; h < args.heads; ++h) {
      const float* x = args.x + r * args.x_stride + h * args.head_dim;
      float* y = args.y + r * args.y_stride + h * args.head_dim;
      if (args.interleaved) {
        rotate_pairs<Arch>(x, cos, sin, half, y);
      } else {
        rotate_halves<Arch>(x, cos, sin, half, y);
      }
      for_columns<Arch>(args.rotary_dim, args.head_dim,
                        [&](size_t j, auto lanes) SACCADE_LAMBDA { lanes.store(y + j, lanes.load(x + j)); });
    }
  }
}

}  // namespace
}  // namespace saccade::kernels
