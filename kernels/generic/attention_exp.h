// Second stage: scores of a row become exp2((score - max) * factor), summed up; and the output `weights`.
#pragma once

#include "kernels/generic/attention_pass.h"
#include "kernels/generic/math.h"

namespace saccade::kernels {
namespace {

// The panels that `range` touches. Partial sums belong to lanes of a panel (vector and lane), so the order of the sum depends on
// the absolute key numbers alone; columns outside of the range are -inf and add zeros.
template <class Arch>
float exp_row(float* key0, KeyRange range, float max, float factor) {
  using V = Vec<float, Arch>;
  constexpr size_t kPanel = Tiles<Arch>::key_panel, kWidth = kLanes<Arch>;
  const V m(max), f(factor);
  V sum0(0.0f), sum1(0.0f);
  const size_t end = round_up(range.end, kPanel);
  for (size_t j = range.begin / kPanel * kPanel; j < end; j += kPanel) {
    const V e0 = exp2_nonpositive<Arch>((load<Arch>(key0 + j) - m) * f);
    const V e1 = exp2_nonpositive<Arch>((load<Arch>(key0 + j + kWidth) - m) * f);
    store<Arch>(key0 + j, e0);
    store<Arch>(key0 + j + kWidth, e1);
    sum0 = sum0 + e0;
    sum1 = sum1 + e1;
  }
  return reduce_add<Arch>(sum0 + sum1);
}

// 2^x for one x <= 0 by the vector function.
template <class Arch>
float exp2_scalar(float x) {
  alignas(Vec<float, Arch>) float lanes[kLanes<Arch>];
  store<Arch>(lanes, exp2_nonpositive<Arch>(Vec<float, Arch>(x)));
  return lanes[0];
}

// Where exponents are counted from. A row whose scores are all -inf (or NaN: max drops those) has no maximum to subtract; with 0
// its exponentials are 0 (or NaN), never -inf - -inf.
SACCADE_INLINE float reference_max(float max) { return max > kMinusInfinity ? max : 0.0f; }

// weights[i][j] for the keys of `tile`: exponentials over their sum inside of `range`, zeros elsewhere.
template <class Arch>
void write_weights(const AttentionPass<Arch>& pass, size_t i, KeyRange tile, KeyRange range, const float* key0, float sum) {
  const AttentionArgs& args = pass.args;
  float* to = args.weights + i * args.weights_stride;
  for (size_t j = tile.begin; j < tile.end; ++j) {
    const bool live = j >= range.begin && j < range.end && sum != 0 && !(pass.element_mask && is_dropped(args, i, j));
    to[j] = live ? key0[j] / sum : 0.0f;
  }
}

}  // namespace
}  // namespace saccade::kernels
