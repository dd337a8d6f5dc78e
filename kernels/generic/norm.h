// Layer norm, RMS norm and L2 normalisation of rows. Mean and variance are two passes over a row in L1: one pass would cancel.
#pragma once

#include "kernels/generic/columns.h"
#include "kernels/kernels.h"

namespace saccade::kernels {
namespace {

// One row; null pointers as in NormArgs. Every norm is this one, for the same bits.
template <class Arch>
SACCADE_INLINE void norm_row(const float* x, const float* residual, size_t width, bool rms, float eps, const float* gain,
                             const float* bias, float* sum, float* y) {
  if (sum != nullptr) {  // from here on the row is `sum`
    for_columns<Arch>(0, width, [&](size_t j, auto lanes) SACCADE_LAMBDA {
      const auto t = lanes.load(x + j);
      lanes.store(sum + j, residual == nullptr ? t : t + lanes.load(residual + j));
    });
    x = sum, residual = nullptr;
  }
  const auto term = [&](size_t j, auto lanes) SACCADE_LAMBDA {
    const auto t = lanes.load(x + j);
    return residual == nullptr ? t : t + lanes.load(residual + j);
  };
  const float count = static_cast<float>(width);
  const float mean = rms ? 0.0f : sum_columns<Arch>(width, term) / count;
  const float squares = sum_columns<Arch>(width, [&](size_t j, auto lanes) SACCADE_LAMBDA {
    const auto centred = term(j, lanes) - lanes.all(mean);
    return centred * centred;
  });
  const Vec<float, Arch> inverse = divide<Arch>(broadcast<Arch>(1.0f), sqrt<Arch>(broadcast<Arch>(squares / count + eps)));
  for_columns<Arch>(0, width, [&](size_t j, auto lanes) SACCADE_LAMBDA {
    Vec<float, Arch> v = (term(j, lanes) - lanes.all(mean)) * inverse;
    if (gain != nullptr) v = v * lanes.load(gain + j);
    if (bias != nullptr) v = v + lanes.load(bias + j);
    lanes.store(y + j, v);
  });
}

template <class Arch>
void norm(const NormArgs& args) {
  for (size_t r = 0; r < args.rows; ++r) {
    norm_row<Arch>(args.x + r * args.x_stride, args.residual == nullptr ? nullptr : args.residual + r * args.residual_stride,
                   args.width, args.rms, args.eps, args.gain, args.bias,
                   args.sum == nullptr ? nullptr : args.sum + r * args.sum_stride, args.y + r * args.y_stride);
  }
}

template <class Arch>
void l2_normalize(const L2NormalizeArgs& args) {
  for (size_t r = 0; r < args.rows; ++r) {
    const float* x = args.x + r * args.x_stride;
    float* y = args.y + r * args.y_stride;
    // Squares of numbers beyond 2^63 overflow, those of numbers below 2^-63 vanish: such rows are scaled first.
    float scale = 1.0f;
    const auto squares = [&] {
      return sum_columns<Arch>(args.width, [&](size_t j, auto lanes) SACCADE_LAMBDA {
        const auto v = lanes.load(x + j) * lanes.all(scale);
        return v * v;
      });
    };
    float s = squares();
    float eps = args.eps;
    if (s > 0x1p120f || s < 0x1p-80f) {
      scale = s > 1.0f ? 0x1p-70f : 0x1p70f;
      eps *= scale;
      s = squares();
    }
    const Vec<float, Arch> length =
        max<Arch>(broadcast<Arch>(eps), sqrt<Arch>(broadcast<Arch>(s)));  // length second: NaN is kept
    for_columns<Arch>(0, args.width, [&](size_t j, auto lanes) SACCADE_LAMBDA {
      lanes.store(y + j, divide<Arch>(lanes.load(x + j) * lanes.all(scale), length));
    });
  }
}

}  // namespace
}  // namespace saccade::kernels
