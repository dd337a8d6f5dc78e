// Third stage: weighted sums of values.
//
// A dropped pair has weight 0, but 0 times NaN is NaN: so it must not be multiplied at all. Rows of a tile run the keys that all
// of them see together; what a window or the causal diagonal adds before and behind is run row by row. Element masks have no such
// shape: there the zero weights do take part, except at keys whose value is not finite (flagged by attention_pack), which are run
// row by row for the rows that keep them. Each element is one chain over its keys in their order, whichever way it went.
#pragma once

#include "kernels/generic/attention_pass.h"

namespace saccade::kernels {
namespace {

// Rows [r, r + rows) of the row tile over `keys`, added to tile_sums (or put there).
template <class Arch>
void add_values(const AttentionPass<Arch>& pass, const RowTile<Arch>& tile, size_t r, size_t rows, KeyRange keys,
                bool from_zero) {
  if (keys.empty()) return;
  constexpr size_t kPanel = Tiles<Arch>::key_panel;
  value_rows<Arch>(rows, {.weights = tile.key0 + r * pass.scores_stride + keys.begin,
                          .weights_stride = pass.scores_stride,
                          .v = pass.head.v + keys.begin * kPanel,
                          .v_panel_stride = pass.args.keys * kPanel,
                          .keys = keys.end - keys.begin,
                          .panels = pass.value_columns / kPanel,
                          .sums = pass.tile_sums + r * pass.value_columns,
                          .sums_stride = pass.value_columns,
                          .from_zero = from_zero});
}

// As add_values, without the pairs that an element mask drops at flagged keys.
template <class Arch>
void add_unflagged_values(const AttentionPass<Arch>& pass, const RowTile<Arch>& tile, size_t r, size_t rows, KeyRange keys) {
  size_t begin = keys.begin;
  for (size_t j = keys.begin; j < keys.end; ++j) {
    if (pass.head.flags[j] == 0) continue;
    add_values<Arch>(pass, tile, r, rows, {begin, j}, false);
    for (size_t one = r; one < r + rows; ++one) {
      if (!is_dropped(pass.args, tile.row + one, j)) add_values<Arch>(pass, tile, one, 1, {j, j + 1}, false);
    }
    begin = j + 1;
  }
  add_values<Arch>(pass, tile, r, rows, {begin, keys.end}, false);
}

// tile_sums[r] = sum over j in range[r] of weights[r][j] v[j].
template <class Arch>
void tile_values(const AttentionPass<Arch>& pass, const RowTile<Arch>& tile) {
  bool same = !tile.common.empty();
  for (size_t r = 0; r < tile.rows; ++r) {
    same = same && tile.range[r].begin == tile.common.begin && tile.range[r].end == tile.common.end;
  }
  const bool flagged = pass.element_mask && *pass.head.any_flag != 0;
  if (same && !flagged) {
    add_values<Arch>(pass, tile, 0, tile.rows, tile.common, true);
    return;
  }
  for (size_t i = 0; i < tile.rows * pass.value_columns; ++i) pass.tile_sums[i] = 0.0f;
  const auto add = [&](size_t r, size_t rows, KeyRange keys) {
    if (flagged) {
      add_unflagged_values<Arch>(pass, tile, r, rows, keys);
    } else {
      add_values<Arch>(pass, tile, r, rows, keys, false);
    }
  };
  if (tile.common.empty()) {
    for (size_t r = 0; r < tile.rows; ++r) add(r, 1, tile.range[r]);
    return;
  }
  for (size_t r = 0; r < tile.rows; ++r) add(r, 1, {tile.range[r].begin, tile.common.begin});
  add(0, tile.rows, tile.common);
  for (size_t r = 0; r < tile.rows; ++r) add(r, 1, {tile.common.end, tile.range[r].end});
}

}  // namespace
}  // namespace saccade::kernels
