// Packed-weight matmul: the order of the work around the register tile of matmul_tile.h.
#pragma once

#include "kernels/generic/math.h"
#include "kernels/generic/matmul_tile.h"
#include "kernels/generic/tiles.h"
#include "kernels/generic/vec.h"
#include "kernels/kernels.h"

namespace saccade::kernels {
namespace {

// The n <= lanes columns from p.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> load_columns(const float* p, size_t n) {
  return n == kLanes<Arch> ? load<Arch>(p) : load_first<Arch>(p, n);
}
template <class Arch>
SACCADE_INLINE void store_columns(float* p, Vec<float, Arch> x, size_t n) {
  n == kLanes<Arch> ? store<Arch>(p, x) : store_first<Arch>(p, x, n);
}

template <class Arch>
void pack_weight(const PackWeightArgs& args) {
  constexpr size_t nr = Tiles<Arch>::nr;
  for (size_t panel = args.panel_begin; panel < args.panel_end; ++panel) {
    float* to = args.panels + panel * nr * args.in;
    const float* from = args.w + panel * nr * args.out_stride;
    const size_t columns = args.out - panel * nr < nr ? args.out - panel * nr : nr;
    for (size_t i = 0; i < args.in; ++i, to += nr, from += args.in_stride) {
      for (size_t j = 0; j < columns; ++j) to[j] = from[j * args.out_stride];
      for (size_t j = columns; j < nr; ++j) to[j] = 0.0f;
    }
  }
}

// What is left to do when a tile's sums lie in a buffer instead of c: everything of the epilogue, on any number of columns.
template <class Arch>
struct MatmulFinish {
  const float* sums;  // [rows][stride]
  size_t stride;
  size_t rows, columns;
  const MatmulTile<Arch>* tile;  // bias, residual, add and c of the buffered tile
};
template <class Arch, Unary kActivation>
__attribute__((noinline)) void matmul_finish(const MatmulFinish<Arch>& f) {
  using V = Vec<float, Arch>;
  const MatmulTile<Arch>& t = *f.tile;
  // What an FFN asks for, without a branch in the loop (GELU of a 6 x 16 tile: 236 cycles instead of 300).
  if (f.columns % kLanes<Arch> == 0 && t.bias != nullptr && t.residual == nullptr && !t.add) {
    using Four = Group<Arch, 4>;
    const size_t rows = f.rows, stride = f.stride, c_stride = t.c_stride;
    for (size_t v = 0, j = 0; j < f.columns; ++v, j += kLanes<Arch>) {
      const V bias = load<Arch>(t.bias + j);
      const float* sums = f.sums + j;
      float* c = t.c[v];
      size_t r = 0;
      for (; r + 4 <= rows; r += 4, sums += 4 * stride, c += 4 * c_stride) {
        const Vec<float, Four> y =
            apply<kActivation, Four>(each<Four>([&](size_t i) SACCADE_LAMBDA { return load<Arch>(sums + i * stride) + bias; }));
        for (size_t i = 0; i < 4; ++i) store<Arch>(c + i * c_stride, y.v[i]);
      }
      for (; r < rows; ++r, sums += stride, c += c_stride) store<Arch>(c, apply<kActivation, Arch>(load<Arch>(sums) + bias));
    }
    return;
  }
  for (size_t v = 0, j = 0; j < f.columns; ++v, j += kLanes<Arch>) {
    const size_t n = f.columns - j < kLanes<Arch> ? f.columns - j : kLanes<Arch>;
    const V bias = t.bias == nullptr ? V(0.0f) : load_columns<Arch>(t.bias + j, n);
    for (size_t r = 0; r < f.rows; ++r) {
      float* c = t.c[v] + r * t.c_stride;
      V x = load<Arch>(f.sums + r * f.stride + j);
      if (t.add) x = load_columns<Arch>(c, n) + x;
      if (t.bias != nullptr) x = x + bias;
      x = apply<kActivation, Arch>(x);
      if (t.residual != nullptr) x = x + load_columns<Arch>(t.residual + r * t.residual_stride + j, n);
      store_columns<Arch>(c, x, n);
    }
  }
}
template <class Arch>
using MatmulFinishFunction = void (*)(const MatmulFinish<Arch>&);
template <class Arch>
MatmulFinishFunction<Arch> matmul_finish_for(Unary activation) {
  switch (activation) {
    case Unary::kIdentity:
      break;
    case Unary::kRelu:
      return &matmul_finish<Arch, Unary::kRelu>;
    case Unary::kGeluErf:
      return &matmul_finish<Arch, Unary::kGeluErf>;
    case Unary::kGeluTanh:
      return &matmul_finish<Arch, Unary::kGeluTanh>;
    case Unary::kSilu:
      return &matmul_finish<Arch, Unary::kSilu>;
    case Unary::kTanh:
      return &matmul_finish<Arch, Unary::kTanh>;
    case Unary::kSigmoid:
      return &matmul_finish<Arch, Unary::kSigmoid>;
    case Unary::kErf:
      return &matmul_finish<Arch, Unary::kErf>;
    case Unary::kExp2:
      return &matmul_finish<Arch, Unary::kExp2>;
  }
  return &matmul_finish<Arch, Unary::kIdentity>;
}

// Strips whose sums wait for one call of the epilogue.
inline constexpr size_t kFinishedStrips = 4;

// One block of rows at one chunk of k.
template <class Arch>
struct Matmul {
  static constexpr size_t nr = Tiles<Arch>::nr;
  const MatmulArgs& args;
  size_t k_begin, k_count;
  bool first, last;
  const char* next;  // the running position of what tiles ask for ahead of time
  size_t next_step;

  // `strips` strips of `rows` rows each from `row` on, for panels [panel, panel + panels).
  void run(MatmulTileFunction<Arch> function, size_t row, size_t rows, size_t strips, size_t panel, size_t panels) {
    const size_t column = panel * nr, vectors = panels * kPanelVectors<Arch>;
    MatmulTile<Arch> t;
    t.a = args.a + row * args.a_stride + k_begin;
    t.a_stride = args.a_stride;
    t.panel = args.panels + (panel * args.k + k_begin) * nr;
    t.panel_stride = args.k * nr;
    const size_t first_k = first_chain(k_count);
    const bool two_chains = first_k < k_count;
    t.k = k_count;
    t.next = next;
    t.next_step = next_step;
    const size_t places = round_of<Arch>(rows);
    t.next_apart = k_count / places * next_step;
    t.bias = last && args.bias != nullptr ? args.bias + column : nullptr;
    t.residual = last && args.residual != nullptr ? args.residual + row * args.residual_stride + column : nullptr;
    t.residual_stride = args.residual_stride;
    t.before = nullptr;
    t.add = !first;
    t.c_stride = args.c_stride;
    for (size_t v = 0; v < vectors; ++v) t.c[v] = c_at(row, column + v * kLanes<Arch>);

    // The first of two chains: the same tile into a buffer. The other begins where it ends.
    alignas(64) float before[kMaxTileFloats<Arch>];
    MatmulTile<Arch> chain = sums_into(t, before, vectors);
    if (two_chains) {
      chain.k = first_k;
      t.a += first_k;
      t.panel += first_k * nr;
      t.k = k_count - first_k;
      t.next += first_k / places * next_step;
      t.before = before;
    }

    const auto begin_strip = [&]() SACCADE_LAMBDA {
      for (size_t v = 0; v < vectors; v += kPanelVectors<Arch>) {
        for (size_t r = 0; r < rows; ++r) prefetch_write(t.c[v] + r * t.c_stride);
      }
      if (two_chains) function(chain);
    };
    const auto end_strip = [&]() SACCADE_LAMBDA {
      chain.a += rows * args.a_stride, t.a += rows * args.a_stride;
      chain.next += next_step * k_count, t.next += next_step * k_count;
      if (t.residual != nullptr) t.residual += rows * args.residual_stride;
      for (size_t v = 0; v < vectors; ++v) t.c[v] += rows * args.c_stride;
    };
    const bool whole = column + panels * nr <= args.n;
    if (whole && (!last || args.activation == Unary::kIdentity)) {
      for (size_t s = 0; s < strips; ++s) {
        begin_strip();
        function(t);
        end_strip();
      }
    } else {
      // An epilogue with more than a tile does goes over the sums of some strips at once: it loads its constants once, and its
      // groups of four rows leave few rows alone.
      alignas(64) float sums[kFinishedStrips * kMaxTileFloats<Arch>];
      MatmulTile<Arch> buffered = sums_into(t, sums, vectors);
      MatmulTile<Arch> from = t;  // the first strip whose sums wait
      MatmulFinish<Arch> finish{
          .sums = sums, .stride = panels * nr, .rows = 0, .columns = whole ? panels * nr : args.n - column, .tile = &from};
      const MatmulFinishFunction<Arch> finish_function = matmul_finish_for<Arch>(last ? args.activation : Unary::kIdentity);
      for (size_t s = 0; s < strips; ++s) {
        begin_strip();
        for (size_t v = 0; v < vectors; ++v) buffered.c[v] = sums + finish.rows * finish.stride + v * kLanes<Arch>;
        buffered.a = t.a, buffered.next = t.next;
        function(buffered);
        finish.rows += rows;
        end_strip();
        if ((s + 1) % kFinishedStrips == 0 || s + 1 == strips) {
          finish_function(finish);
          finish.rows = 0;
          from = t;
        }
      }
    }
    next += next_step * k_count * strips;
  }

  // The same tile with its bare sums in a buffer, [rows][vectors].
  static MatmulTile<Arch> sums_into(MatmulTile<Arch> t, float* buffer, size_t vectors) {
    t.bias = t.residual = nullptr;
    t.add = false;
    t.c_stride = vectors * kLanes<Arch>;
    for (size_t v = 0; v < vectors; ++v) t.c[v] = buffer + v * kLanes<Arch>;
    return t;
  }

  float* c_at(size_t row, size_t column) const {
    float* c = args.c + row * args.c_stride;
    if (args.c_block == 0) return c + column;
    return c + column / args.c_block * args.c_block_stride + column % args.c_block;
  }
};

// Most rows of a strip. Rows that lie a multiple of 4 KiB apart fall into one set of a first-level cache, which holds 8 lines:
// with 14 of them (1,024 x 3,072 x 768, AVX-512 on Zen 4) matmul runs at 0.78 of the peak, with 7 at 0.95.
template <class Arch>
size_t strip_rows(size_t a_stride) {
  constexpr size_t mr = Tiles<Arch>::mr;
  return mr > 8 && a_stride * sizeof(float) % 4096 == 0 ? mr / 2 : mr;
}

// Order of the work. Rows go in blocks that fill three quarters of the second-level cache, and in strips of at most mr within
// them (split evenly: 16 rows are 8 + 8, not 14 + 2). A model's weights come from memory once for each block: against blocks of a
// quarter that is worth 2 to 13 % of an encoder; one weight that stays in the cache would be 1 % faster with a quarter. All
// strips of a block pass over one step of panels before the next step's turn: the panels come from the first-level cache or from
// near it. Meanwhile the tiles ask for those next panels, each for its share, so that weights stream in beside the arithmetic
// instead of before it (weights in memory, 16 rows on Zen 3: 0.77 of the FMA peak instead of 0.49). Long sums go chunk by chunk,
// partial sums through c.
template <class Arch>
void matmul_block(const MatmulArgs& args, size_t chunks, size_t chunk) {
  constexpr size_t nr = Tiles<Arch>::nr;
  const size_t mr = strip_rows<Arch>(args.a_stride);
  const size_t strips = (args.rows + mr - 1) / mr;
  const size_t low = args.rows / strips, high_strips = args.rows % strips;
  const MatmulHeight<Arch> low_height = matmul_height<Arch>(low);
  const MatmulHeight<Arch> high_height = high_strips == 0 ? low_height : matmul_height<Arch>(low + 1);
  const size_t step = low_height.panels;  // a low tile is at least as wide as a high one
  // All tiles of a step together ask for as much as the step holds.
  const size_t share = (nr * sizeof(float) + strips - 1) / strips;

  for (size_t begin = args.panel_begin; begin < args.panel_end; begin += step) {
    const size_t end = args.panel_end - begin < step ? args.panel_end : begin + step;
    for (size_t i = 0; i < chunks; ++i) {
      const size_t k_begin = i * chunk;
      const bool last = i + 1 == chunks;
      const size_t next_panel = last ? end : begin, next_k = last ? 0 : k_begin + chunk;
      Matmul<Arch> work{.args = args,
                        .k_begin = k_begin,
                        .k_count = last ? args.k - k_begin : chunk,
                        .first = i == 0,
                        .last = last,
                        .next = reinterpret_cast<const char*>(args.panels + (next_panel * args.k + next_k) * nr),
                        .next_step = share};
      const auto pass = [&](const MatmulHeight<Arch>& height, size_t row, size_t rows, size_t count) {
        for (size_t panel = begin; panel < end && count > 0;) {
          const size_t panels = end - panel >= height.panels ? height.panels : 1;
          work.run(panels == 1 ? height.narrow : height.wide, row, rows, count, panel, panels);
          panel += panels;
        }
      };
      pass(high_height, 0, low + 1, high_strips);
      pass(low_height, high_strips * (low + 1), low, strips - high_strips);
    }
  }
}

// Blocks are cut between strips.
template <class Arch>
void matmul(const MatmulArgs& args) {
  if (args.rows == 0) return;
  const size_t chunks = args.k <= kOneChunkK ? 1 : (args.k + 511) / 512;
  const size_t chunk = (args.k + chunks - 1) / chunks;
  const size_t mr = strip_rows<Arch>(args.a_stride);
  const size_t strips = (args.rows + mr - 1) / mr;
  const size_t fitting = args.cache_bytes / 4 * 3 / ((chunk + 1) * sizeof(float)) / mr;
  const size_t blocks = fitting == 0 ? strips : (strips + fitting - 1) / fitting;
  MatmulArgs block = args;  // with its own rows
  for (size_t i = 0, row = 0; i < blocks; ++i, row += block.rows) {
    block.rows = (strips * (i + 1) / blocks * mr < args.rows ? strips * (i + 1) / blocks * mr : args.rows) - row;
    block.a = args.a + row * args.a_stride;
    block.c = args.c + row * args.c_stride;
    block.residual = args.residual == nullptr ? nullptr : args.residual + row * args.residual_stride;
    matmul_block<Arch>(block, chunks, chunk);
  }
}

}  // namespace
}  // namespace saccade::kernels
