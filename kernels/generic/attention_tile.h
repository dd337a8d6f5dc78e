// The two inner loops of attention, both "row broadcast times panel": scores (q . k over head_dim) and values (weights . v over
// keys). score_tile and value_tile stay functions of their own, so that a test can disassemble their loops: R x 2 FMAs per step,
// no stack access.
#pragma once

#include "kernels/generic/tiles.h"
#include "kernels/generic/vec.h"
#include "kernels/kernels.h"

namespace saccade::kernels {
namespace {

// sum[r][v] += sum over i < n of a[r * a_stride + i] * b[i][v], one FMA chain per element in the order of i. b has rows of two
// vectors. Four rows share a pointer and reach each other by multiples of the stride: a register for each of 14 rows would spill.
template <class Arch, size_t R>
SACCADE_INLINE void tile_product(Vec<float, Arch> (&sum)[R][2], const float* a, size_t a_stride, const float* b, size_t n) {
  constexpr size_t kWidth = kLanes<Arch>, kGroups = (R + 3) / 4;
  const float* row[kGroups];
#pragma GCC unroll 4
  for (size_t g = 0; g < kGroups; ++g) row[g] = a + 4 * g * a_stride;
#pragma GCC unroll 2
  for (size_t i = 0; i < n; ++i) {
    const Vec<float, Arch> b0 = load<Arch>(b), b1 = load<Arch>(b + kWidth);
    b += 2 * kWidth;
#pragma GCC unroll 16
    for (size_t r = 0; r < R; ++r) {
      const Vec<float, Arch> x = broadcast<Arch>(row[r / 4][r % 4 * a_stride + i]);
      sum[r][0] = fma<Arch>(x, b0, sum[r][0]);
      sum[r][1] = fma<Arch>(x, b1, sum[r][1]);
    }
  }
}

struct ScoreTileArgs {
  const float* q;  // rows
  size_t q_stride;
  size_t head_dim;
  const float* k;  // panels
  size_t panels;
  float* scores;  // rows
  size_t scores_stride;
  float* maxima;  // [rows][vector]: raised to the largest score of each row and lane; NaN may be dropped
};

// Raw scores of R rows over some panels of keys.
template <class Arch, size_t R>
[[gnu::noinline]] void score_tile(const ScoreTileArgs& args) {
  using V = Vec<float, Arch>;
  constexpr size_t kWidth = kLanes<Arch>, kPanel = 2 * kWidth;
  static_assert(kPanel == Tiles<Arch>::key_panel);
  for (size_t p = 0; p < args.panels; ++p) {
    V sum[R][2];
#pragma GCC unroll 16
    for (size_t r = 0; r < R; ++r) sum[r][0] = sum[r][1] = V(0.0f);
    tile_product<Arch, R>(sum, args.q, args.q_stride, args.k + p * args.head_dim * kPanel, args.head_dim);
    float* scores = args.scores + p * kPanel;
    float* maxima = args.maxima;
#pragma GCC unroll 16
    for (size_t r = 0; r < R; ++r) {
      store<Arch>(scores + r * args.scores_stride, sum[r][0]);
      store<Arch>(scores + r * args.scores_stride + kWidth, sum[r][1]);
      store<Arch>(maxima + r * kWidth, max<Arch>(max<Arch>(sum[r][0], sum[r][1]), load<Arch>(maxima + r * kWidth)));
    }
  }
}

// What the sums of a value tile begin with, and where they go.
enum class Sums : uint8_t {
  kPut,    // zero; into `sums`
  kGoOn,   // `sums`: the same chains go on
  kAdded,  // zero; added to `sums` at the end
};

struct ValueTileArgs {
  const float* weights;  // rows
  size_t weights_stride;
  const float* v;  // first key of panel 0
  size_t v_panel_stride;
  size_t keys;
  size_t panels;
  float* sums;  // [rows][panels of columns]
  size_t sums_stride;
  Sums how;
};

// Weighted sums of values of R rows over some keys.
template <class Arch, size_t R>
[[gnu::noinline]] void value_tile(const ValueTileArgs& args) {
  using V = Vec<float, Arch>;
  constexpr size_t kWidth = kLanes<Arch>, kPanel = 2 * kWidth;
  for (size_t p = 0; p < args.panels; ++p) {
    float* to = args.sums + p * kPanel;
    V sum[R][2];
    if (args.how == Sums::kGoOn) {
#pragma GCC unroll 16
      for (size_t r = 0; r < R; ++r) {
        sum[r][0] = load<Arch>(to + r * args.sums_stride);
        sum[r][1] = load<Arch>(to + r * args.sums_stride + kWidth);
      }
    } else {
#pragma GCC unroll 16
      for (size_t r = 0; r < R; ++r) sum[r][0] = sum[r][1] = V(0.0f);
    }
    tile_product<Arch, R>(sum, args.weights, args.weights_stride, args.v + p * args.v_panel_stride, args.keys);
    if (args.how == Sums::kAdded) {
#pragma GCC unroll 16
      for (size_t r = 0; r < R; ++r) {
        sum[r][0] = load<Arch>(to + r * args.sums_stride) + sum[r][0];
        sum[r][1] = load<Arch>(to + r * args.sums_stride + kWidth) + sum[r][1];
      }
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < R; ++r) {
      store<Arch>(to + r * args.sums_stride, sum[r][0]);
      store<Arch>(to + r * args.sums_stride + kWidth, sum[r][1]);
    }
  }
}

// The instance for a height known at run time only, 1 <= rows <= R.
template <class Arch, size_t R = Tiles<Arch>::mr>
SACCADE_INLINE void score_rows(size_t rows, const ScoreTileArgs& args) {
  if constexpr (R > 1) {
    if (rows < R) return score_rows<Arch, R - 1>(rows, args);
  }
  score_tile<Arch, R>(args);
}
template <class Arch, size_t R = Tiles<Arch>::mr>
SACCADE_INLINE void value_rows(size_t rows, const ValueTileArgs& args) {
  if constexpr (R > 1) {
    if (rows < R) return value_rows<Arch, R - 1>(rows, args);
  }
  value_tile<Arch, R>(args);
}

}  // namespace
}  // namespace saccade::kernels
