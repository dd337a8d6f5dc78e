// Third stage: weighted sums of values.
//
// Each element is a sum of chains, one for every kValueChain keys, in their order: rounding errors grow with the length of a
// chain. Where a chain begins depends on the number of the key alone, so whichever way a row goes, its bits are the same.
//
// A dropped pair has weight 0, but 0 times NaN is NaN: so it must not be multiplied at all. Rows of a tile run the keys that all
// of them see together; what a window or the causal diagonal adds before and behind is run row by row. Element masks have no such
// shape: there the zero weights do take part, except at keys whose value is not finite (flagged by attention_pack), which are run
// row by row for the rows that keep them.
#pragma once

#include "kernels/generic/attention_pass.h"

namespace saccade::kernels {
namespace {

// Rows [r, r + rows) of the row tile over `keys`, which lie in one chain; sums: [mr][value_columns].
template <class Arch>
void add_values(const AttentionPass<Arch>& pass, const RowTile<Arch>& tile, size_t r, size_t rows, KeyRange keys, float* sums,
                Sums how) {
  if (keys.empty()) return;
  constexpr size_t kPanel = Tiles<Arch>::key_panel;
  value_rows<Arch>(rows, {.weights = tile.key0 + r * pass.scores_stride + keys.begin,
                          .weights_stride = pass.scores_stride,
                          .v = pass.head.v + keys.begin * kPanel,
                          .v_panel_stride = pass.args.keys * kPanel,
                          .keys = keys.end - keys.begin,
                          .panels = pass.value_columns / kPanel,
                          .sums = sums + r * pass.value_columns,
                          .sums_stride = pass.value_columns,
                          .how = how});
}

// More of the chain in chain_sums, without the pairs that an element mask drops at flagged keys.
template <class Arch>
void go_on(const AttentionPass<Arch>& pass, const RowTile<Arch>& tile, size_t r, size_t rows, KeyRange keys, bool flagged) {
  size_t begin = keys.begin;
  for (size_t j = keys.begin; flagged && j < keys.end; ++j) {
    if (pass.head.flags[j] == 0) continue;
    add_values<Arch>(pass, tile, r, rows, {begin, j}, pass.chain_sums, Sums::kGoOn);
    for (size_t one = r; one < r + rows; ++one) {
      if (is_dropped(pass.args, tile.row + one, j)) continue;
      add_values<Arch>(pass, tile, one, 1, {j, j + 1}, pass.chain_sums, Sums::kGoOn);
    }
    begin = j + 1;
  }
  add_values<Arch>(pass, tile, r, rows, {begin, keys.end}, pass.chain_sums, Sums::kGoOn);
}

// One chain of every row, put into its tile_sums by the row's first chain and added to them by the others.
template <class Arch>
void chain_values(const AttentionPass<Arch>& pass, const RowTile<Arch>& tile, KeyRange chain, bool flagged) {
  KeyRange range[Tiles<Arch>::mr];
  bool begins[Tiles<Arch>::mr], same = !flagged;
  for (size_t r = 0; r < tile.rows; ++r) {
    range[r] = intersect(tile.range[r], chain);
    begins[r] = tile.range[r].begin >= chain.begin;
    same = same && range[r].begin == range[0].begin && range[r].end == range[0].end && begins[r] == begins[0];
  }
  if (same) {
    add_values<Arch>(pass, tile, 0, tile.rows, range[0], pass.tile_sums, begins[0] ? Sums::kPut : Sums::kAdded);
    return;
  }
  for (size_t i = 0; i < tile.rows * pass.value_columns; ++i) pass.chain_sums[i] = 0.0f;
  const KeyRange common = intersect(tile.common, chain);
  if (common.empty()) {
    for (size_t r = 0; r < tile.rows; ++r) go_on<Arch>(pass, tile, r, 1, range[r], flagged);
  } else {
    for (size_t r = 0; r < tile.rows; ++r) go_on<Arch>(pass, tile, r, 1, {range[r].begin, common.begin}, flagged);
    go_on<Arch>(pass, tile, 0, tile.rows, common, flagged);
    for (size_t r = 0; r < tile.rows; ++r) go_on<Arch>(pass, tile, r, 1, {common.end, range[r].end}, flagged);
  }
  for (size_t r = 0; r < tile.rows; ++r) {
    if (range[r].empty()) continue;
    const float* from = pass.chain_sums + r * pass.value_columns;
    float* to = pass.tile_sums + r * pass.value_columns;
    for (size_t c = 0; c < pass.value_columns; c += kLanes<Arch>) {
      const Vec<float, Arch> sum = load<Arch>(from + c);
      store<Arch>(to + c, begins[r] ? sum : load<Arch>(to + c) + sum);
    }
  }
}

// tile_sums[r] = sum over j in range[r] of weights[r][j] v[j].
template <class Arch>
void tile_values(const AttentionPass<Arch>& pass, const RowTile<Arch>& tile) {
  const bool flagged = pass.element_mask && *pass.head.any_flag != 0;
  constexpr size_t kPanel = Tiles<Arch>::key_panel;
  static_assert(kValueChain % kPanel == 0 && Tiles<Arch>::key_tile % kValueChain == 0);
  if (tile.common.empty()) {  // perhaps rows without keys
    for (size_t i = 0; i < tile.rows * pass.value_columns; ++i) pass.tile_sums[i] = 0.0f;
  }
  for (size_t begin = tile.begin * kPanel / kValueChain * kValueChain; begin < tile.end * kPanel; begin += kValueChain) {
    chain_values<Arch>(pass, tile, {begin, begin + kValueChain}, flagged);
  }
}

}  // namespace
}  // namespace saccade::kernels
