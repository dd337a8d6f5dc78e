// Attention of one query head over one sequence's keys; the formula is in kernels.h (AttentionArgs).
//
// Up to kFullRowKeys keys: whole score rows, one pass of exponentials, weighted values, division at the end. Longer: online
// softmax (Milakov and Gimelshein 2018; Dao et al. 2022) over key tiles of a fixed size: each tile has its own chains of sums,
// which are added to the older ones after scaling those down by the rise of the maximum. Both go through the same three stages; a
// full row is one tile.
#pragma once

#include <math.h>

#include "kernels/generic/attention_exp.h"
#include "kernels/generic/attention_pass.h"
#include "kernels/generic/attention_scores.h"
#include "kernels/generic/attention_values.h"

namespace saccade::kernels {
namespace {

// Query rows in tiles of nearly equal height (16 = 6 + 5 + 5, not 6 + 6 + 4): short tiles have too few chains to fill the FMA
// units.
struct RowTiles {
  RowTiles(size_t begin, size_t end, size_t height)
      : first(begin), count((end - begin + height - 1) / height), rows((end - begin) / count), extra((end - begin) % count) {}
  size_t begin(size_t tile) const { return first + tile * rows + (tile < extra ? tile : extra); }
  size_t first, count, rows, extra;
};

// Exponentials of query i over one key tile; the running maximum and sum of row r of the block follow.
template <class Arch>
void update_row(const AttentionPass<Arch>& pass, size_t r, KeyRange range, float* key0, float tile_max) {
  const float old_max = pass.row_max[r];
  const float new_max = tile_max > old_max ? tile_max : old_max;
  float factor = 1.0f;
  if (new_max > old_max) factor = old_max == kMinusInfinity ? 0.0f : exp2_scalar<Arch>((old_max - new_max) * pass.exp2_factor);
  const float sum = exp_row<Arch>(key0, range, reference_max(new_max), pass.exp2_factor);
  pass.row_max[r] = new_max;
  pass.row_factor[r] = factor;
  pass.row_sum[r] = pass.row_sum[r] * factor + sum;
}

// out[i] = sums / sum, and lse. A row whose sum is 0 had no allowed key (or only scores of -inf).
template <class Arch>
void finish_row(const AttentionPass<Arch>& pass, size_t i, size_t r, const float* sums) {
  constexpr size_t kWidth = kLanes<Arch>;
  const AttentionArgs& args = pass.args;
  const float sum = pass.row_sum[r];
  float* out = args.out + i * args.out_stride;
  const bool empty = sum == 0;
  const Vec<float, Arch> inverse(empty ? 0.0f : 1.0f / sum), zero(0.0f);
  for (size_t c = 0; c < args.value_dim; c += kWidth) {
    const Vec<float, Arch> x = empty ? zero : load<Arch>(sums + c) * inverse;
    if (args.value_dim - c >= kWidth) {
      store<Arch>(out + c, x);
    } else {
      store_first<Arch>(out + c, x, args.value_dim - c);
    }
  }
  if (args.lse != nullptr) {
    const float max = pass.row_max[r] * (pass.natural ? 1.0f : args.scale);
    args.lse[i * args.lse_stride] = empty ? kMinusInfinity : (pass.row_max[r] > kMinusInfinity ? max : 0.0f) + ::logf(sum);
  }
}

// The row tiles [begin, end) in one key tile; returns their number.
template <class Arch>
size_t make_tiles(const AttentionPass<Arch>& pass, const RowTiles& rows, size_t begin, size_t end, KeyRange key_tile,
                  RowTile<Arch>* tiles) {
  for (size_t t = begin; t < end; ++t) {
    const size_t row = rows.begin(t);
    tiles[t - begin].place(pass, row, rows.begin(t + 1) - row, row - rows.begin(begin), key_tile);
  }
  return end - begin;
}

// The three stages for the row tiles [begin, end), at most query_tile rows, over the keys of `key_tile`. Row 0 of the state is
// query `state_row`.
template <class Arch>
void step(const AttentionPass<Arch>& pass, const RowTiles& rows, size_t begin, size_t end, size_t state_row, KeyRange key_tile) {
  constexpr size_t kWidth = kLanes<Arch>;
  const AttentionArgs& args = pass.args;
  RowTile<Arch> tiles[Tiles<Arch>::query_tile / Tiles<Arch>::mr];
  const size_t count = make_tiles<Arch>(pass, rows, begin, end, key_tile, tiles);
  float tile_max[Tiles<Arch>::query_tile];
  block_scores<Arch>(pass, tiles, count, tile_max);

  const float* max = tile_max;
  for (size_t t = 0; t < count; ++t) {
    for (size_t r = 0; r < tiles[t].rows; ++r, ++max) {
      const size_t i = tiles[t].row + r;
      const KeyRange range = tiles[t].range[r];
      prefetch(args.out + i * args.out_stride, args.value_dim);
      prefetch(args.q + (i + rows.begin(end) - rows.begin(begin)) * args.q_stride, args.head_dim);
      float* key0 = tiles[t].key0 + r * pass.scores_stride;
      if (!range.empty()) update_row<Arch>(pass, i - state_row, range, key0, *max);
      if (pass.full && args.weights != nullptr) write_weights<Arch>(pass, i, key_tile, range, key0, pass.row_sum[i - state_row]);
    }
  }
  for (size_t t = 0; t < count; ++t) {
    tile_values<Arch>(pass, tiles[t]);
    for (size_t r = 0; r < tiles[t].rows; ++r) {
      const size_t i = tiles[t].row + r;
      const float* from = pass.tile_sums + r * pass.value_columns;
      if (pass.full) {
        finish_row<Arch>(pass, i, i - state_row, from);
      } else if (!tiles[t].range[r].empty()) {
        float* to = pass.sums + (i - state_row) * pass.value_columns;
        const Vec<float, Arch> factor(pass.row_factor[i - state_row]);
        for (size_t c = 0; c < pass.value_columns; c += kWidth) {
          store<Arch>(to + c, fma<Arch>(load<Arch>(to + c), factor, load<Arch>(from + c)));
        }
      }
    }
  }
}

// Online softmax knows maxima and sums only at the end: scores and exponentials are computed again.
template <class Arch>
void write_online_weights(const AttentionPass<Arch>& pass, const RowTiles& rows, size_t begin, size_t end, size_t state_row,
                          KeyRange key_tile) {
  RowTile<Arch> tiles[Tiles<Arch>::query_tile / Tiles<Arch>::mr];
  const size_t count = make_tiles<Arch>(pass, rows, begin, end, key_tile, tiles);
  float unused[Tiles<Arch>::query_tile];
  block_scores<Arch>(pass, tiles, count, unused);
  for (size_t t = 0; t < count; ++t) {
    for (size_t r = 0; r < tiles[t].rows; ++r) {
      const size_t i = tiles[t].row + r;
      const KeyRange range = tiles[t].range[r];
      float* key0 = tiles[t].key0 + r * pass.scores_stride;
      if (!range.empty()) exp_row<Arch>(key0, range, reference_max(pass.row_max[i - state_row]), pass.exp2_factor);
      write_weights<Arch>(pass, i, key_tile, range, key0, pass.row_sum[i - state_row]);
    }
  }
}

template <class Arch>
void attention(const AttentionArgs& args) {
  if (args.row_begin >= args.row_end) return;
  const AttentionPass<Arch> pass(args);
  constexpr size_t kStep = Tiles<Arch>::query_tile / Tiles<Arch>::mr;
  const RowTiles tiles(args.row_begin, args.row_end, Tiles<Arch>::mr);
  const size_t block = pass.full ? kStep : kStep * kOnlineQueryTiles;
  const auto key_tile = [&](size_t begin) { return intersect({begin, begin + pass.key_tile}, {0, args.keys}); };

  for (size_t t = 0; t < tiles.count; t += block) {
    const size_t end = t + block < tiles.count ? t + block : tiles.count;
    const size_t first = tiles.begin(t), last = tiles.begin(end);
    if (args.scores != nullptr) {
      for (size_t u = t; u < end; ++u) write_raw_scores<Arch>(pass, tiles.begin(u), tiles.begin(u + 1) - tiles.begin(u));
    }
    for (size_t r = 0; r < last - first; ++r) {
      pass.row_max[r] = kMinusInfinity;
      pass.row_sum[r] = 0.0f;
    }
    if (pass.full) {
      step<Arch>(pass, tiles, t, end, first, {0, args.keys});
      continue;
    }
    for (size_t i = 0; i < (last - first) * pass.value_columns; ++i) pass.sums[i] = 0.0f;
    // Ranges of rows rise with the row: the block needs the keys from its first row's first to its last row's last.
    const KeyRange all{key_range(args, first).begin, key_range(args, last - 1).end};
    for (size_t j = all.begin / pass.key_tile * pass.key_tile; j < all.end; j += pass.key_tile) {
      for (size_t u = t; u < end; u += kStep) step<Arch>(pass, tiles, u, u + kStep < end ? u + kStep : end, first, key_tile(j));
    }
    for (size_t i = first; i < last; ++i) finish_row<Arch>(pass, i, i - first, pass.sums + (i - first) * pass.value_columns);
    if (args.weights == nullptr) continue;
    for (size_t j = 0; j < args.keys; j += pass.key_tile) {
      for (size_t u = t; u < end; u += kStep) {
        write_online_weights<Arch>(pass, tiles, u, u + kStep < end ? u + kStep : end, first, key_tile(j));
      }
    }
  }
}

}  // namespace
}  // namespace saccade::kernels
