// Moving rows: gather and scatter by a list, 16-bit numbers to float.
#pragma once

#include "kernels/generic/columns.h"
#include "kernels/kernels.h"

namespace saccade::kernels {
namespace {

template <class Arch>
void gather_rows(const GatherRowsArgs& args) {
  for (size_t r = 0; r < args.rows; ++r) {
    float* y = args.y + r * args.y_stride;
    if (args.index[r] < 0) {
      for_columns<Arch>(0, args.width, [&](size_t j, auto lanes) SACCADE_LAMBDA { lanes.store(y + j, broadcast<Arch>(0.0f)); });
    } else {
      const float* x = args.x + static_cast<size_t>(args.index[r]) * args.x_stride;
      for_columns<Arch>(0, args.width, [&](size_t j, auto lanes) SACCADE_LAMBDA { lanes.store(y + j, lanes.load(x + j)); });
    }
  }
}

// bfloat16 is the upper half of a float.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> widen_bfloat16(Vec<int32_t, Arch> x) {
  return float_of<Arch>(shift_left<16, Arch>(x));
}

// IEEE half: 1 sign, 5 exponent and 10 mantissa bits, exponent bias 15 (float: 127). Only normal numbers meet float arithmetic,
// so flush-to-zero changes nothing.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> widen_half(Vec<int32_t, Arch> x) {
  using I = Vec<int32_t, Arch>;
  const I magnitude = x & I(0x7fff), sign = shift_left<16, Arch>(x & I(0x8000));
  const I rebias(112 << 23);
  const I normal = shift_left<13, Arch>(magnitude) + rebias;
  const I special = normal + rebias;  // infinity and NaN: exponent 31 becomes 255
  const I subnormal = bits_of<Arch>(to_float<Arch>(magnitude) * broadcast<Arch>(0x1p-24f));
  const I finite = select_less<Arch>(magnitude, I(0x0400), subnormal, normal);
  return float_of<Arch>(select_less<Arch>(magnitude, I(0x7c00), finite, special) | sign);
}

template <class Arch>
void widen(const WidenArgs& args) {
  for_columns<Arch>(0, args.count, [&](size_t i, auto lanes) SACCADE_LAMBDA {
    const Vec<int32_t, Arch> x = lanes.load_u16(args.x + i);
    lanes.store(args.y + i, args.bfloat16 ? widen_bfloat16<Arch>(x) : widen_half<Arch>(x));
  });
}

}  // namespace
}  // namespace saccade::kernels
