// Softmax of rows, three passes over a row in L1: maximum, exp2 and sum, scale.
#pragma once

#include "kernels/generic/columns.h"
#include "kernels/generic/math.h"
#include "kernels/kernels.h"

namespace saccade::kernels {
namespace {

// One row of `length` > 0 columns. A NaN may be lost in the maximum but not in exp2: the sum becomes NaN, and so does the whole
// row.
template <class Arch>
SACCADE_INLINE void softmax_row(const float* x, size_t length, float scale, float* y) {
  using V = Vec<float, Arch>;
  const V lowest = broadcast<Arch>(-__builtin_inff());
  const V highest = reduce_columns<Arch>(
      length, lowest,
      [&](V best, size_t j, auto lanes) SACCADE_LAMBDA { return max<Arch>(best, lanes.select(lanes.load(x + j), lowest)); },
      [](V a, V b) SACCADE_LAMBDA { return max<Arch>(a, b); });
  const V largest = broadcast<Arch>(reduce_max<Arch>(highest));
  const V factor = broadcast<Arch>(scale * kLog2E);
  const float sum = sum_columns<Arch>(length, [&](size_t j, auto lanes) SACCADE_LAMBDA {
    const V e = exp2_nonpositive<Arch>((lanes.load(x + j) - largest) * factor);
    lanes.store(y + j, e);
    return e;
  });
  const V inverse = broadcast<Arch>(1.0f / sum);
  for_columns<Arch>(0, length, [&](size_t j, auto lanes) SACCADE_LAMBDA { lanes.store(y + j, lanes.load(y + j) * inverse); });
}

template <class Arch>
void softmax(const SoftmaxArgs& args) {
  for (size_t r = 0; r < args.rows; ++r) {
    float* y = args.y + r * args.y_stride;
    const size_t length = args.lengths == nullptr ? args.width : static_cast<size_t>(args.lengths[r]);
    if (length > 0) softmax_row<Arch>(args.x + r * args.x_stride, length, args.scale, y);
    for_columns<Arch>(length, args.width,
                      [&](size_t j, auto lanes) SACCADE_LAMBDA { lanes.store(y + j, broadcast<Arch>(0.0f)); });
  }
}

}  // namespace
}  // namespace saccade::kernels
