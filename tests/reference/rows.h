#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/kernels.h"

namespace saccade::reference {

// y[r] = x[index[r]], zeros where index[r] < 0
inline std::vector<double> gather_rows(const kernels::GatherRowsArgs& args) {
  std::vector<double> y(args.rows * args.width, 0.0);
  for (size_t r = 0; r < args.rows; ++r) {
    for (size_t j = 0; j < args.width && args.index[r] >= 0; ++j) {
      y[r * args.width + j] = static_cast<double>(args.x[static_cast<size_t>(args.index[r]) * args.x_stride + j]);
    }
  }
  return y;
}

// sign, exponent and mantissa of a number of `exponent_bits` and `mantissa_bits`
inline double small_float(uint16_t x, int exponent_bits, int mantissa_bits) {
  const int largest = (1 << exponent_bits) - 1, bias = largest / 2;
  const int exponent = (x >> mantissa_bits) & largest, mantissa = x & ((1 << mantissa_bits) - 1);
  const double sign = (x & 0x8000) != 0 ? -1 : 1;
  if (exponent == largest) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}
inline double half(uint16_t x) { return small_float(x, 5, 10); }
inline double bfloat16(uint16_t x) { return small_float(x, 8, 7); }

}  // namespace saccade::reference
