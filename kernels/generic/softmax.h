// Softmax of rows, three passes over a row in L1: maximum, exp2 and sum, scale.
#pragma once

#include "kernels/generic/columns.h"
#include "kernels/generic/math.h"
#include "kernels/kernels.h"

namespace saccade::kernels {
namespace {

// One row of `length` > 0 columns. Meanwhile the next row is asked for: the processor's own prefetchers see no read for two
// passes of three (64 MiB: 11.3 GB/s instead of 9.7). A NaN may be lost in the maximum but not in exp2: the sum becomes NaN, and
// so does the whole row.
template <class Arch>
SACCADE_INLINE void softmax_row(const float* x, size_t length, float scale, float* y, const float* next) {
  constexpr float kLowest = -__builtin_inff();
  const float largest = reduce_max<Arch>(reduce_columns<Arch>(
      length, kLowest,
      [&](auto best, size_t j, auto lanes) SACCADE_LAMBDA {
        return max<typename decltype(lanes)::Arch>(best, lanes.select(lanes.load(x + j), lanes.all(kLowest)));
      },
      [](auto a, auto b) SACCADE_LAMBDA { return max<Arch>(a, b); }));
  const float factor = scale * kLog2E;
  const float sum = sum_columns<Arch>(length, [&](size_t j, auto lanes) SACCADE_LAMBDA {
    using A = typename decltype(lanes)::Arch;
    prefetch(next + j, kLanes<A>);
    const auto power = exp2_nonpositive<A>((lanes.load(x + j) - lanes.all(largest)) * lanes.all(factor));
    lanes.store(y + j, power);
    return power;
  });
  const float inverse = 1.0f / sum;
  for_columns_in_groups<Arch>(
      0, length, [&](size_t j, auto lanes) SACCADE_LAMBDA { lanes.store(y + j, lanes.load(y + j) * lanes.all(inverse)); });
}

template <class Arch>
void softmax(const SoftmaxArgs& args) {
  for (size_t r = 0; r < args.rows; ++r) {
    const float* x = args.x + r * args.x_stride;
    float* y = args.y + r * args.y_stride;
    const size_t length = args.lengths == nullptr ? args.width : static_cast<size_t>(args.lengths[r]);
    if (length > 0) softmax_row<Arch>(x, length, args.scale, y, x + args.x_stride);
    for_columns<Arch>(length, args.width, [&](size_t j, auto lanes) SACCADE_LAMBDA { lanes.store(y + j, lanes.all(0.0f)); });
  }
}

}  // namespace
}  // namespace saccade::kernels
