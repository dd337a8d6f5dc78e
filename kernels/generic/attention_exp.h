// Second stage: scores of a row become exp2((score - max) * factor), summed up; and the output `weights`.
#pragma once

#include "kernels/generic/attention_pass.h"
#include "kernels/generic/math.h"

namespace saccade::kernels {
namespace {

// x[v] = exp2_nonpositive(x[v]), one step of all N vectors after the other: a chain of 14 dependent operations fills neither the
// FMA units nor, 43 cycles long, can the scheduler see past it (on Zen 3 one vector at a time takes 8 cycles, four take 5). Same
// bits.
template <class Arch, size_t N>
SACCADE_INLINE void exp2_nonpositive_each(Vec<float, Arch> (&x)[N]) {
  using V = Vec<float, Arch>;
  const V magic(kRound + 127.0f), lowest(-127.0f), one(1.0f);
  V t[N], y[N];
  constexpr size_t kTerms = sizeof(kExp2) / sizeof(kExp2[0]);
  for (size_t v = 0; v < N; ++v) x[v] = max<Arch>(lowest, x[v]);
  for (size_t v = 0; v < N; ++v) t[v] = x[v] + magic;
  for (size_t v = 0; v < N; ++v) x[v] = x[v] - (t[v] - magic);
  for (size_t v = 0; v < N; ++v) y[v] = fma<Arch>(V(kExp2[kTerms - 1]), x[v], V(kExp2[kTerms - 2]));
  for (size_t i = kTerms - 2; i-- > 0;) {
    for (size_t v = 0; v < N; ++v) y[v] = fma<Arch>(y[v], x[v], V(kExp2[i]));
  }
  for (size_t v = 0; v < N; ++v) y[v] = fma<Arch>(x[v], y[v], one);
  for (size_t v = 0; v < N; ++v) x[v] = y[v] * pow2_of_field<Arch>(t[v]);
}

// N vectors of a row; sum[v] += the new values.
template <class Arch, size_t N>
SACCADE_INLINE void exp_vectors(float* s, Vec<float, Arch> max, Vec<float, Arch> factor, Vec<float, Arch> (&sum)[4]) {
  constexpr size_t kWidth = kLanes<Arch>;
  Vec<float, Arch> x[N];
  for (size_t v = 0; v < N; ++v) x[v] = (load<Arch>(s + v * kWidth) - max) * factor;
  exp2_nonpositive_each<Arch, N>(x);
  for (size_t v = 0; v < N; ++v) {
    store<Arch>(s + v * kWidth, x[v]);
    sum[v] = sum[v] + x[v];
  }
}

// The panels that `range` touches; columns outside of the range are -inf and become zeros. Returns the sum; its order depends on
// the row's range alone.
template <class Arch>
float exp_row(float* key0, KeyRange range, float max, float factor) {
  using V = Vec<float, Arch>;
  constexpr size_t kPanel = Tiles<Arch>::key_panel;
  const V m(max), f(factor);
  V sum[4] = {V(0.0f), V(0.0f), V(0.0f), V(0.0f)};
  size_t j = range.begin / kPanel * kPanel;
  for (; j + kPanel < range.end; j += 2 * kPanel) exp_vectors<Arch, 4>(key0 + j, m, f, sum);
  if (j < range.end) exp_vectors<Arch, 2>(key0 + j, m, f, sum);
  return reduce_add<Arch>((sum[0] + sum[1]) + (sum[2] + sum[3]));
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
