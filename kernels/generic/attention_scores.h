// First stage: scores of a row tile over one key tile, -inf where a pair is not allowed, and the largest score of each row.
//
// Panels that every row of the tile sees as a whole take the maximum while they are stored. The others (ends of rows, windows,
// the causal diagonal) are masked afterwards, a row at a time, before their maximum is taken: what k holds for a dropped pair
// never reaches it. With softcap, bias, ALiBi or element masks one pass over each row does everything.
#pragma once

#include "kernels/generic/attention_pass.h"
#include "kernels/generic/math.h"

namespace saccade::kernels {
namespace {

// Lanes of keys [j, j + kLanes) outside of `range` become -inf.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> mask_outside(Vec<float, Arch> x, size_t j, KeyRange range) {
  const Vec<float, Arch> dropped(kMinusInfinity);
  if (j + kLanes<Arch> > range.end) x = select_first<Arch>(x, dropped, range.end > j ? range.end - j : 0);
  if (j < range.begin) {
    const size_t n = range.begin - j;
    x = select_first<Arch>(dropped, x, n < kLanes<Arch> ? n : kLanes<Arch>);
  }
  return x;
}

// bias(i, j), ... of one row: contiguous, one for all, or strided.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> load_strided(const float* p, size_t stride, size_t n) {
  if (stride == 1) return n == kLanes<Arch> ? load<Arch>(p) : load_first<Arch>(p, n);
  if (stride == 0) return broadcast<Arch>(*p);
  alignas(Vec<float, Arch>) float lanes[kLanes<Arch>] = {};
  for (size_t i = 0; i < n; ++i) lanes[i] = p[i * stride];
  return load<Arch>(lanes);
}
template <class Arch>
SACCADE_INLINE Vec<float, Arch> load_strided(const uint8_t* p, size_t stride, size_t n) {
  alignas(Vec<float, Arch>) float lanes[kLanes<Arch>] = {};
  for (size_t i = 0; i < n; ++i) lanes[i] = p[i * stride];
  return load<Arch>(lanes);
}

// relative_bias[clamp(j - i, -R, R) + R] for lanes j.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> load_relative(const AttentionArgs& args, size_t i, size_t j) {
  const int64_t radius = args.relative_radius, width = kLanes<Arch>;
  const int64_t first = static_cast<int64_t>(j) - static_cast<int64_t>(i);
  if (first >= -radius && first + width - 1 <= radius) return load<Arch>(args.relative_bias + (first + radius));
  if (first >= radius) return broadcast<Arch>(args.relative_bias[2 * radius]);
  if (first + width - 1 <= -radius) return broadcast<Arch>(args.relative_bias[0]);
  alignas(Vec<float, Arch>) float lanes[kLanes<Arch>];
  for (int64_t l = 0; l < width; ++l) {
    const int64_t d = first + l;
    lanes[l] = args.relative_bias[(d < -radius ? -radius : d > radius ? radius : d) + radius];
  }
  return load<Arch>(lanes);
}

// Row i's raw scores of the panels that `range` touches become s(i, j), or -inf where the pair is not allowed. Returns the
// maximum of each lane. `row` points at the score of key 0 (keys before this key tile are not touched).
template <class Arch>
Vec<float, Arch> finish_scores(const AttentionPass<Arch>& pass, size_t i, KeyRange range, float* row) {
  using V = Vec<float, Arch>;
  constexpr size_t kWidth = kLanes<Arch>, kPanel = Tiles<Arch>::key_panel;
  const AttentionArgs& args = pass.args;
  const float* bias = args.bias == nullptr ? nullptr : args.bias + i * args.bias_row_stride;
  const uint8_t* mask = args.mask == nullptr ? nullptr : args.mask + i * args.mask_row_stride;
  const V scale(args.scale), cap(args.softcap), cap_inverse(args.softcap != 0 ? 1.0f / args.softcap : 0.0f),
      slope(args.alibi_slope);
  const V zero(0.0f), dropped(kMinusInfinity);
  V largest = dropped;
  const size_t end = round_up(range.end, kPanel);
  for (size_t j = range.begin / kPanel * kPanel; j < end; j += kWidth) {
    if (j >= range.end || j + kWidth <= range.begin) {
      store<Arch>(row + j, dropped);
      continue;
    }
    const size_t n = args.keys - j < kWidth ? args.keys - j : kWidth;  // all of these keys exist
    V s = load<Arch>(row + j);
    if (pass.natural) {
      s = s * scale;
      if (args.softcap != 0) s = cap * apply<Unary::kTanh, Arch>(s * cap_inverse);
      if (bias != nullptr) {
        const V b = load_strided<Arch>(bias + j * args.bias_column_stride, args.bias_column_stride, n);
        s = select_equal<Arch>(b, dropped, dropped, s + b);
      }
      if (args.relative_bias != nullptr) s = s + load_relative<Arch>(args, i, j);
      if (args.alibi_slope != 0) {
        const int64_t first = static_cast<int64_t>(j) - static_cast<int64_t>(i) - args.position;
        const V distance = V(static_cast<float>(first)) + lane_numbers<Arch>();
        s = fnma<Arch>(slope, max<Arch>(distance, zero - distance), s);
      }
    }
    if (mask != nullptr) {
      const V keep = load_strided<Arch>(mask + j * args.mask_column_stride, args.mask_column_stride, n);
      s = select_equal<Arch>(keep, zero, dropped, s);
    }
    s = mask_outside<Arch>(s, j, range);
    store<Arch>(row + j, s);
    largest = max<Arch>(s, largest);
  }
  return largest;
}

// Masks row's scores of the panels [begin, end) that `range` touches; returns `largest` raised by them.
template <class Arch>
Vec<float, Arch> mask_panels(KeyRange range, size_t begin, size_t end, float* row, Vec<float, Arch> largest) {
  constexpr size_t kPanel = Tiles<Arch>::key_panel;
  for (size_t p = begin; p < end; ++p) {
    if (intersect(range, {p * kPanel, (p + 1) * kPanel}).empty()) continue;
    for (size_t j = p * kPanel; j < (p + 1) * kPanel; j += kLanes<Arch>) {
      const Vec<float, Arch> s = mask_outside<Arch>(load<Arch>(row + j), j, range);
      store<Arch>(row + j, s);
      largest = max<Arch>(s, largest);
    }
  }
  return largest;
}

// Raw scores of the panels [from, to), as far as the row tile touches them.
template <class Arch>
void score_panels(const AttentionPass<Arch>& pass, const RowTile<Arch>& tile, size_t from, size_t to) {
  constexpr size_t kPanel = Tiles<Arch>::key_panel;
  const AttentionArgs& args = pass.args;
  const auto run = [&](size_t begin, size_t end, float* maxima) {
    begin = begin < from ? from : begin;
    end = end > to ? to : end;
    if (begin >= end) return;
    score_rows<Arch>(tile.rows, {.q = args.q + tile.row * args.q_stride,
                                 .q_stride = args.q_stride,
                                 .head_dim = args.head_dim,
                                 .k = pass.head.k + begin * kPanel * args.head_dim,
                                 .panels = end - begin,
                                 .scores = tile.key0 + begin * kPanel,
                                 .scores_stride = pass.scores_stride,
                                 .maxima = maxima});
  };
  run(tile.begin, tile.whole_begin, pass.unused_maxima);
  run(tile.whole_begin, tile.whole_end, tile.maxima);
  run(tile.whole_end, tile.end, pass.unused_maxima);
}

// Scores of some row tiles, -inf where not allowed, and the largest of each row.
template <class Arch>
void block_scores(const AttentionPass<Arch>& pass, const RowTile<Arch>* tiles, size_t count, float* row_max) {
  using V = Vec<float, Arch>;
  constexpr size_t kPanel = Tiles<Arch>::key_panel, kWidth = kLanes<Arch>;
  // 16 KiB of keys, half of the smallest first-level cache, stay there while all row tiles pass over them.
  const size_t fit = 4096 / (kPanel * pass.args.head_dim + 1), group = fit > 0 ? fit : 1;
  size_t begin = tiles[0].begin, end = 0;
  for (size_t t = 0; t < count; ++t) {
    begin = tiles[t].begin < begin ? tiles[t].begin : begin;
    end = tiles[t].end > end ? tiles[t].end : end;
    for (size_t r = 0; r < tiles[t].rows; ++r) store<Arch>(tiles[t].maxima + r * kWidth, V(kMinusInfinity));
  }
  for (size_t p = begin; p < end; p += group) {
    for (size_t t = 0; t < count; ++t) score_panels<Arch>(pass, tiles[t], p, p + group);
  }
  for (size_t t = 0; t < count; ++t) {
    const RowTile<Arch>& tile = tiles[t];
    for (size_t r = 0; r < tile.rows; ++r) {
      float* key0 = tile.key0 + r * pass.scores_stride;
      V largest = load<Arch>(tile.maxima + r * kWidth);
      if (tile.range[r].empty()) {
        largest = V(kMinusInfinity);
      } else if (pass.each_row) {
        largest = finish_scores<Arch>(pass, tile.row + r, tile.range[r], key0);
      } else {
        largest = mask_panels<Arch>(tile.range[r], tile.begin, tile.whole_begin, key0, largest);
        largest = mask_panels<Arch>(tile.range[r], tile.whole_end, tile.end, key0, largest);
      }
      *row_max++ = reduce_max<Arch>(largest);
    }
  }
}

// The output `scores`: q . k of every key, dropped ones too.
template <class Arch>
void write_raw_scores(const AttentionPass<Arch>& pass, size_t row, size_t rows) {
  constexpr size_t kPanel = Tiles<Arch>::key_panel, kWidth = kLanes<Arch>;
  const AttentionArgs& args = pass.args;
  for (size_t begin = 0; begin < args.keys; begin += pass.key_tile) {
    const size_t n = args.keys - begin < pass.key_tile ? args.keys - begin : pass.key_tile;
    score_rows<Arch>(rows, {.q = args.q + row * args.q_stride,
                            .q_stride = args.q_stride,
                            .head_dim = args.head_dim,
                            .k = pass.head.k + begin * args.head_dim,
                            .panels = (n + kPanel - 1) / kPanel,
                            .scores = pass.scores,
                            .scores_stride = pass.scores_stride,
                            .maxima = pass.unused_maxima});
    for (size_t r = 0; r < rows; ++r) {
      const float* from = pass.scores + r * pass.scores_stride;
      float* to = args.scores + (row + r) * args.scores_stride + begin;
      for (size_t j = 0; j < n; j += kWidth) store_first<Arch>(to + j, load<Arch>(from + j), n - j < kWidth ? n - j : kWidth);
    }
  }
}

}  // namespace
}  // namespace saccade::kernels
