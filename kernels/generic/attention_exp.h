// Second stage: scores of a row become exp2((score - max) * factor), summed up; and the output `weights`.
#pragma once

#include "kernels/generic/attention_pass.h"
#include "kernels/generic/math.h"

namespace saccade::kernels {
namespace {

// N vectors of a row; their new values are added to the first N of `sum`.
template <class Arch, size_t N>
SACCADE_INLINE void exp_vectors(float* s, float max, float factor, Vec<float, Group<Arch, 4>>& sum) {
  using G = Group<Arch, N>;
  const Vec<float, G> e = exp2_nonpositive<G>((load<G>(s) - broadcast<G>(max)) * broadcast<G>(factor));
  store<G>(s, e);
  for (size_t v = 0; v < N; ++v) sum.v[v] = sum.v[v] + e.v[v];
}

// The panels that `range` touches; columns outside of the range are -inf and become zeros. Returns the sum; its order depends on
// the row's range alone.
template <class Arch>
float exp_row(float* key0, KeyRange range, float max, float factor) {
  constexpr size_t kPanel = Tiles<Arch>::key_panel;
  Vec<float, Group<Arch, 4>> sum = broadcast<Group<Arch, 4>>(0.0f);
  size_t j = range.begin / kPanel * kPanel;
  for (; j + kPanel < range.end; j += 2 * kPanel) exp_vectors<Arch, 4>(key0 + j, max, factor, sum);
  if (j < range.end) exp_vectors<Arch, 2>(key0 + j, max, factor, sum);
  return reduce_add<Arch>((sum.v[0] + sum.v[1]) + (sum.v[2] + sum.v[3]));
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
