// Single 16-bit numbers as floats, for the short vectors of a graph; whole matrices go through the kernel of that name.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "saccade/tensor.h"

namespace saccade {
inline namespace v0 {

inline float widen_bf16(uint16_t x) { return std::bit_cast<float>(uint32_t{x} << 16); }

// IEEE half: sign, 5 exponent bits (bias 15), 10 mantissa bits.
inline float widen_f16(uint16_t x) {
  const uint32_t sign = uint32_t{x & 0x8000u} << 16;
  const uint32_t exponent = (x >> 10) & 0x1f;
  const uint32_t mantissa = x & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);             // infinities and NaN
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);  // 112 = 127 - 15
  if (mantissa == 0) return std::bit_cast<float>(sign);
  const uint32_t shift = static_cast<uint32_t>(std::countl_zero(mantissa)) - 21;  // brings the first bit to bit 10
  return std::bit_cast<float>(sign | (113 - shift) << 23 | ((mantissa << shift) & 0x3ff) << 13);
}

// Element i of `data`, which may lie at any address; f32, f16 or bf16.
inline float widen(const void* data, Dtype dtype, int64_t i) {
  const char* at = static_cast<const char*>(data) + i * size_of(dtype);
  if (dtype == Dtype::kF32) {
    float x;
    std::memcpy(&x, at, sizeof(x));
    return x;
  }
  uint16_t x;
  std::memcpy(&x, at, sizeof(x));
  return dtype == Dtype::kF16 ? widen_f16(x) : widen_bf16(x);
}

}  // namespace v0
}  // namespace saccade
