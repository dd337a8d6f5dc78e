// Packed keys and values of one head: K as transposed panels (a step of q . k reads key_panel keys side by side), V as panels of
// columns, and which keys have a value that is not finite (see attention_values.h for why that matters).
#pragma once

#include "kernels/generic/tiles.h"
#include "kernels/generic/vec.h"
#include "kernels/kernels.h"

namespace saccade::kernels {
namespace {

// Where attention_pack puts things; each part starts at a cache line. attention_pack_floats is their sum.
template <class Arch>
struct PackedHead {
  static constexpr size_t kPanel = Tiles<Arch>::key_panel;
  static constexpr size_t kLine = 16;  // floats in a cache line

  PackedHead(float* scratch, size_t keys, size_t head_dim, size_t value_dim) {
    k = scratch;
    v = k + round_up(round_up(keys, kPanel) * head_dim, kLine);
    any_flag = reinterpret_cast<uint8_t*>(v + round_up(round_up(value_dim, kPanel) * keys, kLine));
    flags = any_flag + 64;
  }

  float* k;           // [panels of keys][head_dim][kPanel]; zeros behind the last key
  float* v;           // [panels of columns][keys][kPanel]; zeros behind the last column
  uint8_t* any_flag;  // [1] is a flag set?
  uint8_t* flags;     // [keys] 1: the value of this key holds NaN or Inf
};

// Rows of one head may lie far apart, where no hardware prefetcher follows.
inline constexpr size_t kAhead = 16;

// Keys [j, j + kLanes) of K into the columns starting at `panel`.
template <class Arch>
void pack_keys(const AttentionPackArgs& args, size_t j, float* panel) {
  constexpr size_t kWidth = kLanes<Arch>, kPanel = Tiles<Arch>::key_panel;
  const size_t keys = j < args.keys ? args.keys - j : 0;
  for (size_t c = 0; c < args.head_dim; c += kWidth) {
    const size_t columns = args.head_dim - c < kWidth ? args.head_dim - c : kWidth;
    const float* rows = args.k + j * args.k_stride + c;
    Vec<float, Arch> block[kWidth];
    if (keys >= kWidth && columns == kWidth) {  // in registers from the first load to the last store
      SACCADE_UNROLL for (size_t i = 0; i < kWidth; ++i) {
        __builtin_prefetch(rows + (i + kAhead) * args.k_stride);
        block[i] = load<Arch>(rows + i * args.k_stride);
      }
      transpose<Arch>(block);
      SACCADE_UNROLL for (size_t i = 0; i < kWidth; ++i) store<Arch>(panel + (c + i) * kPanel, block[i]);
      continue;
    }
    for (size_t i = 0; i < kWidth; ++i) {
      const float* row = rows + i * args.k_stride;
      block[i] = i >= keys ? Vec<float, Arch>(0.0f) : columns == kWidth ? load<Arch>(row) : load_first<Arch>(row, columns);
    }
    transpose<Arch>(block);
    for (size_t i = 0; i < columns; ++i) store<Arch>(panel + (c + i) * kPanel, block[i]);
  }
}

// Row j of V into its panels. True if a value is not finite.
template <class Arch>
bool pack_value(const AttentionPackArgs& args, size_t j, float* panels) {
  constexpr size_t kWidth = kLanes<Arch>, kPanel = Tiles<Arch>::key_panel;
  const float* row = args.v + j * args.v_stride;
  prefetch(row + kAhead * args.v_stride, args.value_dim);
  const Vec<float, Arch> zero(0.0f);
  Vec<float, Arch> check = zero;  // x * 0 is NaN for NaN and Inf
  float* to = panels + j * kPanel;
  size_t column = 0;
  for (; column + kPanel <= args.value_dim; column += kPanel, to += args.keys * kPanel) {
    SACCADE_UNROLL for (size_t c = 0; c < kPanel; c += kWidth) {
      const Vec<float, Arch> x = load<Arch>(row + column + c);
      store<Arch>(to + c, x);
      check = fma<Arch>(x, zero, check);
    }
  }
  for (size_t c = 0; column < args.value_dim && c < kPanel; c += kWidth) {
    const size_t left = column + c < args.value_dim ? args.value_dim - column - c : 0;
    const Vec<float, Arch> x = left >= kWidth ? load<Arch>(row + column + c)
                               : left > 0     ? load_first<Arch>(row + column + c, left)
                                              : zero;
    store<Arch>(to + c, x);
    check = fma<Arch>(x, zero, check);
  }
  return any_nan<Arch>(check);
}

template <class Arch>
void attention_pack(const AttentionPackArgs& args) {
  constexpr size_t kWidth = kLanes<Arch>, kPanel = Tiles<Arch>::key_panel;
  const PackedHead<Arch> head(args.scratch, args.keys, args.head_dim, args.value_dim);
  for (size_t j = 0; j < args.keys; j += kPanel) {
    for (size_t c = 0; c < kPanel; c += kWidth) pack_keys<Arch>(args, j + c, head.k + j * args.head_dim + c);
  }
  bool any = false;
  for (size_t j = 0; j < args.keys; ++j) {
    const bool flag = pack_value<Arch>(args, j, head.v);
    head.flags[j] = flag;
    any |= flag;
  }
  *head.any_flag = any;
}

}  // namespace
}  // namespace saccade::kernels
