// What every stage of one attention call needs: the arguments, the packed head, the calling thread's scratch, and which keys a
// row may see. Stages work on a row tile (up to Tiles::mr query rows) and one key tile [begin, end); score rows hold key j at
// column j - begin.
#pragma once

#include "kernels/generic/attention_pack.h"
#include "kernels/generic/attention_tile.h"
#include "kernels/generic/math.h"
#include "kernels/generic/tiles.h"
#include "kernels/generic/vec.h"
#include "kernels/kernels.h"

namespace saccade::kernels {
namespace {

inline constexpr float kMinusInfinity = -__builtin_inff();

// Keys [begin, end); empty if begin >= end.
struct KeyRange {
  size_t begin, end;
  bool empty() const { return begin >= end; }
};
SACCADE_INLINE KeyRange intersect(KeyRange a, KeyRange b) {
  return {a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
}

// The keys that position, left and right leave to row i. Element masks may take away more.
SACCADE_INLINE KeyRange key_range(const AttentionArgs& args, size_t i) {
  const int64_t keys = static_cast<int64_t>(args.keys), p = static_cast<int64_t>(i) + args.position;
  int64_t begin = p - args.left, end = p + args.right + 1;
  begin = begin < 0 ? 0 : begin > keys ? keys : begin;
  end = end < begin ? begin : end > keys ? keys : end;
  return {static_cast<size_t>(begin), static_cast<size_t>(end)};
}

// Does an element mask (byte mask or -inf bias) drop this pair?
SACCADE_INLINE bool is_dropped(const AttentionArgs& args, size_t i, size_t j) {
  if (args.mask != nullptr && args.mask[i * args.mask_row_stride + j * args.mask_column_stride] == 0) return true;
  return args.bias != nullptr && args.bias[i * args.bias_row_stride + j * args.bias_column_stride] == kMinusInfinity;
}

template <class Arch>
struct AttentionPass {
  static constexpr size_t kRows = Tiles<Arch>::mr, kPanel = Tiles<Arch>::key_panel, kWidth = kLanes<Arch>;

  explicit AttentionPass(const AttentionArgs& a) : args(a), head(const_cast<float*>(a.scratch), a.keys, a.head_dim, a.value_dim) {
    full = args.keys <= kFullRowKeys;
    key_tile = full ? (args.keys > 0 ? args.keys : 1) : Tiles<Arch>::key_tile;
    natural =
        args.softcap != 0 || args.bias != nullptr || args.relative_bias != nullptr || args.alibi_slope != 0 || args.scale == 0;
    element_mask = args.mask != nullptr || args.bias != nullptr;
    each_row = natural || element_mask;
    exp2_factor = natural ? kLog2E : args.scale * kLog2E;

    float* next = args.row_scratch;
    const size_t columns = round_up(full ? args.keys : Tiles<Arch>::key_tile, kPanel);
    // One line more than a row: else rows of 4 KiB would share their cache sets.
    scores_stride = columns + 16;
    scores = next, next += Tiles<Arch>::query_tile * scores_stride;
    value_columns = round_up(args.value_dim, kPanel);
    tile_sums = next, next += kRows * value_columns;
    chain_sums = next, next += kRows * value_columns;
    maxima = next, next += Tiles<Arch>::query_tile * kWidth;
    unused_maxima = next, next += kRows * kWidth;
    const size_t rows = full ? Tiles<Arch>::query_tile : kOnlineQueryTiles * Tiles<Arch>::query_tile;
    row_max = next, next += rows;
    row_sum = next, next += rows;
    row_factor = next, next += rows;
    sums = next;
  }

  const AttentionArgs& args;
  PackedHead<Arch> head;
  bool full;          // whole score rows, else online softmax
  size_t key_tile;    // keys of one step
  bool natural;       // scores become s(i, j) before the exponential; else they stay q . k and exp2_factor holds the scale
  bool element_mask;  // a byte mask or a bias that may hold -inf
  bool each_row;      // scores need a pass over each row
  float exp2_factor;  // exp(s - m) = exp2((score - max) * exp2_factor)
  float* scores;      // [query_tile][scores_stride]
  size_t scores_stride;
  size_t value_columns;
  float* tile_sums;      // [mr][value_columns]: weighted values of one key tile
  float* chain_sums;     // [mr][value_columns]: of kValueChain keys, where rows of a tile see different ones
  float* maxima;         // [query_tile][vector]
  float* unused_maxima;  // [mr][vector]: takes the maxima of panels that still need masking
  float* row_max;        // [rows of a block]: largest score so far
  float* row_sum;        // likewise: sum of exponentials
  float* row_factor;     // likewise: what older sums are multiplied by in this key tile
  float* sums;           // [rows of a block][value_columns], online only: weighted values so far
};

// A row tile in one key tile.
template <class Arch>
struct RowTile {
  // `slot` is the number of its first row among the score rows.
  void place(const AttentionPass<Arch>& pass, size_t first, size_t count, size_t slot, KeyRange tile) {
    row = first, rows = count, common = tile;
    begin = end = whole_begin = whole_end = 0;
    constexpr size_t kPanel = Tiles<Arch>::key_panel;
    key0 = pass.scores + slot * pass.scores_stride - tile.begin;
    maxima = pass.maxima + slot * kLanes<Arch>;
    KeyRange all{tile.end, tile.begin};
    for (size_t r = 0; r < rows; ++r) {
      range[r] = intersect(key_range(pass.args, row + r), tile);
      common = intersect(common, range[r]);
      if (range[r].empty()) continue;
      all = {range[r].begin < all.begin ? range[r].begin : all.begin, range[r].end > all.end ? range[r].end : all.end};
    }
    if (all.empty()) return;
    begin = all.begin / kPanel;
    end = (all.end + kPanel - 1) / kPanel;
    whole_begin = (common.begin + kPanel - 1) / kPanel;
    whole_end = common.end / kPanel;
    if (pass.each_row || common.empty() || whole_begin >= whole_end) whole_begin = whole_end = end;
  }

  size_t row, rows;                 // queries [row, row + rows)
  KeyRange range[Tiles<Arch>::mr];  // keys of each
  KeyRange common;                  // keys that all of them see
  size_t begin, end;                // panels that some row touches
  size_t whole_begin, whole_end;    // of these, panels whose scores are final when they are stored
  float* key0;                      // score of its first row and key 0 (before this key tile: not there)
  float* maxima;
};

}  // namespace
}  // namespace saccade::kernels
