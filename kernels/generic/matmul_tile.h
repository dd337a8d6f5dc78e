// The register tile of matmul: rows x (panels * nr) sums in registers from the first k to the last.
//
// Every height 1..mr comes from the template matmul_tile<Arch, kRows, kPanels>; low tiles take several panels side by side, so
// that enough independent FMAs are in flight. Its loop over k is all of a matmul's inner work: kRows * kPanels * nr / vector FMAs
// per k. To look at it: objdump -dC, functions named matmul_tile<...>; the loop is the only one that holds FMAs (tests/rules does
// this).
#pragma once

#include "kernels/generic/tiles.h"
#include "kernels/generic/vec.h"
#include "kernels/kernels.h"

namespace saccade::kernels {
namespace {

// Vectors in a panel's width.
template <class Arch>
inline constexpr size_t kPanelVectors = Tiles<Arch>::nr / kLanes<Arch>;

// Cache lines in a panel's row.
template <class Arch>
inline constexpr size_t kPanelLines = (Tiles<Arch>::nr * sizeof(float) + 63) / 64;

// Panels side by side for a tile of that height: one if that makes 10 sums (the FMAs that two ports of latency 4 or 5 hold; one
// panel asks ahead: 5 and 6 rows with AVX-512 1.06 and 1.13 times faster than with two), else as many as the registers take
// (sums, the fewer of rows and vectors, and one). More than 6 streams of weights are too many for the prefetchers, and their
// panels often lie a multiple of 4 KiB apart, which is a fight for the 8 ways of a first-level cache.
template <class Arch>
constexpr size_t panels_of(size_t rows) {
  size_t panels = 1;
  for (size_t p = 2; p <= 6 && rows * kPanelVectors<Arch> < 10; ++p) {
    const size_t vectors = p * kPanelVectors<Arch>;
    if (rows * vectors + (rows < vectors ? rows : vectors) + 1 <= kRegisters<Arch>) panels = p;
  }
  return panels;
}

// Sizes of the largest of these tiles.
template <class Arch>
inline constexpr size_t kMaxTileVectors = panels_of<Arch>(1) * kPanelVectors<Arch>;
template <class Arch>
inline constexpr size_t kMaxTileFloats = kRegisters<Arch> * kLanes<Arch>;

// Multiples 0 to kCount - 1 of a stride. Odd ones lie in registers, the others are 2, 4 or 8 times those, which is a form of
// address on x86: with one moving pointer, 14 rows take 8 registers instead of 14.
template <size_t kCount>
struct Multiples {
  size_t odd[kCount / 2 + 1];  // in bytes
  SACCADE_INLINE explicit Multiples(size_t stride) {
    SACCADE_UNROLL for (size_t i = 0; i < kCount / 2; ++i) odd[i] = opaque((2 * i + 1) * stride * sizeof(float));
  }
  // Called inside a loop, makes the compiler keep to that; it would take 14 pointers, some of them in memory.
  SACCADE_INLINE void keep() { SACCADE_UNROLL for (size_t i = 0; i < kCount / 2; ++i) odd[i] = opaque(odd[i]); }
  SACCADE_INLINE const float* at(const float* p, size_t i) const {
    if (i == 0) return p;
    const int shift = __builtin_ctzll(i);
    return reinterpret_cast<const float*>(reinterpret_cast<const char*>(p) + (odd[i >> (shift + 1)] << shift));
  }
};

// The k in a round of a tile of that height, and the places where it asks ahead, one a k, as many lines as a row of the panel
// has. (One panel only. AVX-512, MiniLM on 8 tokens, one thread: 1.78 ms; with one line a place 2.64, without asking 2.28, with
// one place 2.24, with four 2.22, with four of one line 2.96.)
template <class Arch>
constexpr size_t round_of(size_t rows) {
  if (!kFused) return 1;
  if (kPanelLines<Arch> > 1) return 2;
  return rows < 6 ? 3 : rows * kPanelVectors<Arch> <= 12 ? 4 : 2;
}

template <class Arch>
struct MatmulTile {
  const float* a;
  size_t a_stride;
  const float* panel;
  size_t panel_stride;  // from one panel to the next
  size_t k;
  const char* next;   // weights that will be needed soon, asked for while this tile runs: next_step bytes a k
  size_t next_step;   // (one panel only)
  size_t next_apart;  // bytes from one of the round_of(rows) places to the next
  const float* bias;  // at the tile's first column, like residual; both may be null
  const float* residual;
  size_t residual_stride;
  const float* before;              // [rows][vectors], the sums of the chunk's first chain; may be null
  bool add;                         // to what c holds: the sums of the chunks before this one
  size_t c_stride;                  // from row to row
  float* c[kMaxTileVectors<Arch>];  // row 0 of each vector
};

template <class Arch>
SACCADE_INLINE void ask(const char* place) {  // line after line: two places in turn would be as slow as a line each
  SACCADE_UNROLL for (size_t line = 0; line < kPanelLines<Arch>; ++line) prefetch_read(place + 64 * line);
}

// Sums over the tile's k, one chain each, then + before, + c, + bias, + residual where asked for.
template <class Arch, size_t kRows, size_t kPanels>
__attribute__((noinline)) void matmul_tile(const MatmulTile<Arch>& t) {
  using V = Vec<float, Arch>;
  constexpr size_t kVectors = kPanels * kPanelVectors<Arch>;
  V sum[kRows][kVectors];
  SACCADE_UNROLL for (size_t r = 0; r < kRows; ++r) { SACCADE_UNROLL for (size_t v = 0; v < kVectors; ++v) sum[r][v] = V(0.0f); }
  Multiples<kRows> row(t.a_stride);
  Multiples<kPanels> panel(t.panel_stride);
  // A round: a few k, and before them what is asked for ahead. FMAs want few instructions beside them: when the core's other
  // hyperthread is at work, the two share the places in the pipeline. (12 FMAs a k on Zen 3: with 23 instructions a k, in rounds
  // of four, a tile keeps 0.85 of its undisturbed speed; it kept 0.77 with 25.) Taller tiles have fewer anyway, and need the
  // registers; without FMA, products need them.
  // Few rows wait for memory: they ask for a line a k, each in a place of its own, which the processor's own prefetcher takes up
  // as a stream (4 rows, weights in memory: 0.75 of the bandwidth instead of 0.61). Several panels are several streams and do
  // without.
  constexpr bool kAsks = kPanels == 1;
  constexpr size_t kRoundK = kAsks ? round_of<Arch>(kRows) : 1;
  const char* next = t.next;
  const size_t next_step = t.next_step, apart = t.next_apart, three_apart = 3 * apart;
  const float* a = t.a;
  const float* b = t.panel;
  const auto step = [&]() __attribute__((always_inline)) {
    if constexpr (kRows + kPanels > 9) row.keep();
    if constexpr (kRows < kVectors) {
      Factor<Arch> x[kRows];
      SACCADE_UNROLL for (size_t r = 0; r < kRows; ++r) x[r] = load_factor<Arch>(row.at(a, r));
      SACCADE_UNROLL for (size_t v = 0; v < kVectors; ++v) {
        const V w = load<Arch>(panel.at(b, v / kPanelVectors<Arch>) + v % kPanelVectors<Arch> * kLanes<Arch>);
        SACCADE_UNROLL for (size_t r = 0; r < kRows; ++r) sum[r][v] = fma_factor<Arch>(x[r], w, sum[r][v]);
        keep_order();
      }
    } else {
      V w[kVectors];
      SACCADE_UNROLL for (size_t v = 0; v < kVectors; ++v) {
        w[v] = load<Arch>(panel.at(b, v / kPanelVectors<Arch>) + v % kPanelVectors<Arch> * kLanes<Arch>);
      }
      SACCADE_UNROLL for (size_t r = 0; r < kRows; ++r) {
        const Factor<Arch> x = load_factor<Arch>(row.at(a, r));
        SACCADE_UNROLL for (size_t v = 0; v < kVectors; ++v) sum[r][v] = fma_factor<Arch>(x, w[v], sum[r][v]);
        keep_order();
      }
    }
    ++a;
    b += Tiles<Arch>::nr;
  };
  const float* const a_whole = a + t.k / kRoundK * kRoundK;
  while (a != a_whole) {
    if constexpr (kAsks) {
      ask<Arch>(next);
      if constexpr (kRoundK > 1) ask<Arch>(next + apart);
      if constexpr (kRoundK > 2) ask<Arch>(next + 2 * apart);
      if constexpr (kRoundK > 3) ask<Arch>(next + three_apart);
      next += next_step;
    }
    step();
    if constexpr (kRoundK > 1) step();
    if constexpr (kRoundK > 2) step();
    if constexpr (kRoundK > 3) step();
  }
#pragma GCC unroll 1
  for (size_t i = t.k % kRoundK; i > 0; --i) step();
  if (t.before != nullptr) {
    SACCADE_UNROLL for (size_t r = 0; r < kRows; ++r) {
      SACCADE_UNROLL for (size_t v = 0; v < kVectors; ++v) {
        sum[r][v] = load<Arch>(t.before + (r * kVectors + v) * kLanes<Arch>) + sum[r][v];
      }
    }
  }
  const size_t c_stride = t.c_stride;
  if (t.add) {
    SACCADE_UNROLL for (size_t v = 0; v < kVectors; ++v) {
      const float* c = t.c[v];
      SACCADE_UNROLL for (size_t r = 0; r < kRows; ++r) sum[r][v] = load<Arch>(c + r * c_stride) + sum[r][v];
    }
  }
  if (t.bias != nullptr) {
    SACCADE_UNROLL for (size_t v = 0; v < kVectors; ++v) {
      const V bias = load<Arch>(t.bias + v * kLanes<Arch>);
      SACCADE_UNROLL for (size_t r = 0; r < kRows; ++r) sum[r][v] = sum[r][v] + bias;
    }
  }
  if (t.residual != nullptr) {
    SACCADE_UNROLL for (size_t v = 0; v < kVectors; ++v) {
      SACCADE_UNROLL for (size_t r = 0; r < kRows; ++r) {
        sum[r][v] = sum[r][v] + load<Arch>(t.residual + r * t.residual_stride + v * kLanes<Arch>);
      }
    }
  }
  SACCADE_UNROLL for (size_t v = 0; v < kVectors; ++v) {
    float* c = t.c[v];
    SACCADE_UNROLL for (size_t r = 0; r < kRows; ++r) store<Arch>(c + r * c_stride, sum[r][v]);
  }
}

template <class Arch>
using MatmulTileFunction = void (*)(const MatmulTile<Arch>&);

// The tile functions of one height: several panels side by side, and one.
template <class Arch>
struct MatmulHeight {
  MatmulTileFunction<Arch> wide = nullptr, narrow = nullptr;
  size_t panels = 1;  // of wide
};
template <class Arch, size_t kRows = Tiles<Arch>::mr>
MatmulHeight<Arch> matmul_height(size_t rows) {
  if (rows == kRows)
    return {&matmul_tile<Arch, kRows, panels_of<Arch>(kRows)>, &matmul_tile<Arch, kRows, 1>, panels_of<Arch>(kRows)};
  if constexpr (kRows > 1) return matmul_height<Arch, kRows - 1>(rows);
  return {};
}

}  // namespace
}  // namespace saccade::kernels
