// The only file that names xsimd. Vec<T, Arch> has no default Arch, and every function takes its Arch from its arguments, so
// that code of one ISA cannot be mixed with another's. Everything lives in an anonymous namespace: the objects of the ISAs
// must not share a single symbol (the linker would pick one of them for the whole program).
#pragma once

#include <cstddef>
#include <cstdint>

#include <xsimd/xsimd.hpp>

#define SACCADE_INLINE inline __attribute__((always_inline))

namespace saccade::kernels {
namespace {

// The architectures that cmake/isa.cmake names, as far as this file's flags reach.
#if defined(__SSE2__)
using Sse2 = xsimd::sse2;
#endif
#if defined(__AVX2__)
using Avx2 = xsimd::fma3<xsimd::avx2>;
#endif
#if defined(__AVX512F__)
using Avx512 = xsimd::avx512bw;
#endif
#if defined(__ARM_NEON)
using Neon = xsimd::neon64;
#endif

template <class T, class Arch>
using Vec = xsimd::batch<T, Arch>;

// Lanes of a float vector.
template <class Arch>
inline constexpr size_t kLanes = Vec<float, Arch>::size;

template <class Arch>
SACCADE_INLINE Vec<float, Arch> load(const float* p) {
  return Vec<float, Arch>::load_unaligned(p);
}
template <class Arch>
SACCADE_INLINE void store(float* p, Vec<float, Arch> v) {
  v.store_unaligned(p);
}
template <class Arch>
SACCADE_INLINE Vec<float, Arch> broadcast(float x) {
  return Vec<float, Arch>(x);
}

// Asks for the cache lines of [p, p + n), which may be any address.
SACCADE_INLINE void prefetch(const float* p, size_t n) {
  for (size_t i = 0; i < n; i += 16) __builtin_prefetch(p + i);
}

// a * b + c in one rounding (two on SSE2, which has no FMA). xsimd 8.1 has no AVX-512 form: its fma multiplies and adds there.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> fma(Vec<float, Arch> a, Vec<float, Arch> b, Vec<float, Arch> c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#else
  return xsimd::fma(a, b, c);
#endif
}
// c - a * b, likewise.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> fnma(Vec<float, Arch> a, Vec<float, Arch> b, Vec<float, Arch> c) {
#if defined(__AVX512F__)
  return _mm512_fnmadd_ps(a, b, c);
#else
  return xsimd::fnma(a, b, c);
#endif
}

// The larger of a and b. A NaN in b always gives NaN; a NaN in a may be dropped (x86) or kept (NEON).
template <class Arch>
SACCADE_INLINE Vec<float, Arch> max(Vec<float, Arch> a, Vec<float, Arch> b) {
#if defined(__AVX512F__)
  return _mm512_max_ps(a, b);
#elif defined(__AVX__)
  return _mm256_max_ps(a, b);
#elif defined(__SSE2__)
  return _mm_max_ps(a, b);
#else
  return vmaxq_f32(a, b);
#endif
}
// The smaller of a and b; NaN as in max.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> min(Vec<float, Arch> a, Vec<float, Arch> b) {
#if defined(__AVX512F__)
  return _mm512_min_ps(a, b);
#elif defined(__AVX__)
  return _mm256_min_ps(a, b);
#elif defined(__SSE2__)
  return _mm_min_ps(a, b);
#else
  return vminq_f32(a, b);
#endif
}

// The first n lanes from p, zeros behind them; reads nothing past p + n. 0 <= n <= lanes.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> load_first(const float* p, size_t n) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p);
#elif defined(__AVX2__)
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lane));
#else
  alignas(Vec<float, Arch>) float lanes[kLanes<Arch>] = {};
  for (size_t i = 0; i < n; ++i) lanes[i] = p[i];
  return Vec<float, Arch>::load_aligned(lanes);
#endif
}
// The first n lanes to p; writes nothing past p + n. 0 <= n <= lanes.
template <class Arch>
SACCADE_INLINE void store_first(float* p, Vec<float, Arch> v, size_t n) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), v);
#elif defined(__AVX2__)
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  _mm256_maskstore_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lane), v);
#else
  alignas(Vec<float, Arch>) float lanes[kLanes<Arch>];
  v.store_aligned(lanes);
  for (size_t i = 0; i < n; ++i) p[i] = lanes[i];
#endif
}

// `full` where the lane's index is below n, `rest` elsewhere.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> select_first(Vec<float, Arch> full, Vec<float, Arch> rest, size_t n) {
#if defined(__AVX512F__)
  return _mm512_mask_blend_ps(static_cast<__mmask16>((1u << n) - 1), rest, full);
#elif defined(__AVX2__)
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i keep = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lane);
  return _mm256_blendv_ps(rest, full, _mm256_castsi256_ps(keep));
#else
  alignas(Vec<float, Arch>) float a[kLanes<Arch>], b[kLanes<Arch>];
  full.store_aligned(a);
  rest.store_aligned(b);
  for (size_t i = n; i < kLanes<Arch>; ++i) a[i] = b[i];
  return Vec<float, Arch>::load_aligned(a);
#endif
}

// Sum of all lanes, in an order fixed by the ISA: halves are added until one lane is left.
template <class Arch>
SACCADE_INLINE float reduce_add(Vec<float, Arch> v) {
  alignas(Vec<float, Arch>) float lanes[kLanes<Arch>];
  v.store_aligned(lanes);
  for (size_t half = kLanes<Arch> / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}
// Largest lane; NaN lanes may be dropped.
template <class Arch>
SACCADE_INLINE float reduce_max(Vec<float, Arch> v) {
  alignas(Vec<float, Arch>) float lanes[kLanes<Arch>];
  v.store_aligned(lanes);
  for (size_t half = kLanes<Arch> / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] = lanes[i] > lanes[i + half] ? lanes[i] : lanes[i + half];
  }
  return lanes[0];
}

// True if any lane is NaN.
template <class Arch>
SACCADE_INLINE bool any_nan(Vec<float, Arch> v) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q) != 0;
#elif defined(__AVX__)
  return _mm256_movemask_ps(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)) != 0;
#elif defined(__SSE2__)
  return _mm_movemask_ps(_mm_cmpunord_ps(v, v)) != 0;
#else
  return vminvq_u32(vceqq_f32(v, v)) == 0;
#endif
}

// `a` in the lanes where x == y, `b` elsewhere (so `b` where x or y is NaN).
template <class Arch>
SACCADE_INLINE Vec<float, Arch> select_equal(Vec<float, Arch> x, Vec<float, Arch> y, Vec<float, Arch> a, Vec<float, Arch> b) {
  return xsimd::select(x == y, a, b);
}

// 0, 1, 2, ...
template <class Arch>
SACCADE_INLINE Vec<float, Arch> lane_numbers() {
  alignas(64) static constexpr float kNumbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return Vec<float, Arch>::load_unaligned(kNumbers);
}

// rows[i][j] becomes rows[j][i].
template <class Arch>
SACCADE_INLINE void transpose(Vec<float, Arch> (&rows)[kLanes<Arch>]) {
#if defined(__AVX512F__)
  __m512 a[16], b[16];
  for (int i = 0; i < 16; i += 2) {  // 2 x 2 blocks inside each 128-bit part
    a[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
    a[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {  // 4 x 4: b[i + c] holds column 4 * part + c of rows i to i + 3
    b[i] = _mm512_shuffle_ps(a[i], a[i + 2], 0x44);
    b[i + 1] = _mm512_shuffle_ps(a[i], a[i + 2], 0xee);
    b[i + 2] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0x44);
    b[i + 3] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0xee);
  }
  for (int c = 0; c < 4; ++c) {  // 4 x 4 parts
    const __m512 low_even = _mm512_shuffle_f32x4(b[c], b[c + 4], 0x88), low_odd = _mm512_shuffle_f32x4(b[c], b[c + 4], 0xdd);
    const __m512 high_even = _mm512_shuffle_f32x4(b[c + 8], b[c + 12], 0x88), high_odd = _mm512_shuffle_f32x4(b[c + 8], b[c + 12], 0xdd);
    rows[c] = _mm512_shuffle_f32x4(low_even, high_even, 0x88);
    rows[c + 4] = _mm512_shuffle_f32x4(low_odd, high_odd, 0x88);
    rows[c + 8] = _mm512_shuffle_f32x4(low_even, high_even, 0xdd);
    rows[c + 12] = _mm512_shuffle_f32x4(low_odd, high_odd, 0xdd);
  }
#elif defined(__AVX__)
  __m256 a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    a[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
    b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
    b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
    b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
  }
  for (int c = 0; c < 4; ++c) {
    rows[c] = _mm256_permute2f128_ps(b[c], b[c + 4], 0x20);
    rows[c + 4] = _mm256_permute2f128_ps(b[c], b[c + 4], 0x31);
  }
#elif defined(__SSE2__)
  const __m128 a = _mm_unpacklo_ps(rows[0], rows[1]), b = _mm_unpackhi_ps(rows[0], rows[1]);
  const __m128 c = _mm_unpacklo_ps(rows[2], rows[3]), d = _mm_unpackhi_ps(rows[2], rows[3]);
  rows[0] = _mm_movelh_ps(a, c);
  rows[1] = _mm_movehl_ps(c, a);
  rows[2] = _mm_movelh_ps(b, d);
  rows[3] = _mm_movehl_ps(d, b);
#else
  const float32x4_t a = vtrn1q_f32(rows[0], rows[1]), b = vtrn2q_f32(rows[0], rows[1]);
  const float32x4_t c = vtrn1q_f32(rows[2], rows[3]), d = vtrn2q_f32(rows[2], rows[3]);
  rows[0] = vcombine_f32(vget_low_f32(a), vget_low_f32(c));
  rows[1] = vcombine_f32(vget_low_f32(b), vget_low_f32(d));
  rows[2] = vcombine_f32(vget_high_f32(a), vget_high_f32(c));
  rows[3] = vcombine_f32(vget_high_f32(b), vget_high_f32(d));
#endif
}

// x * 2^n for whole n in [-126, 127], n given as float. The exponent field is built by integer arithmetic: exact.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> scale_pow2(Vec<float, Arch> x, Vec<float, Arch> n) {
#if defined(__AVX512F__)
  return _mm512_scalef_ps(x, n);
#else
  const Vec<int32_t, Arch> exponent = (xsimd::to_int(n) + Vec<int32_t, Arch>(127)) << 23;
  return x * xsimd::bitwise_cast<Vec<float, Arch>>(exponent);
#endif
}

// ---- bit patterns (math.h) ----

template <class Arch>
SACCADE_INLINE Vec<int32_t, Arch> bits_of(Vec<float, Arch> x) {
  return xsimd::bitwise_cast<Vec<int32_t, Arch>>(x);
}
template <class Arch>
SACCADE_INLINE Vec<float, Arch> float_of(Vec<int32_t, Arch> x) {
  return xsimd::bitwise_cast<Vec<float, Arch>>(x);
}
// The number whose exponent field is the low 8 bits of t's pattern, bit 8 being its sign, and whose mantissa is 0.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> pow2_of_field(Vec<float, Arch> t) {
  return float_of<Arch>(bits_of<Arch>(t) << 23);
}
// x with the low 9 bits of t's pattern added to sign and exponent field.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> add_to_field(Vec<float, Arch> x, Vec<float, Arch> t) {
  return float_of<Arch>(bits_of<Arch>(x) + (bits_of<Arch>(t) << 23));
}
template <class Arch>
SACCADE_INLINE Vec<float, Arch> abs(Vec<float, Arch> x) {
  return float_of<Arch>(bits_of<Arch>(x) & Vec<int32_t, Arch>(0x7fffffff));
}
// |x| with the sign of `sign`.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> copy_sign(Vec<float, Arch> x, Vec<float, Arch> sign) {
  const Vec<int32_t, Arch> mask(0x7fffffff);
  return float_of<Arch>((bits_of<Arch>(x) & mask) | (bits_of<Arch>(sign) & ~mask));
}
// Where a < b, x; elsewhere (NaN too), y.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> select_less(Vec<float, Arch> a, Vec<float, Arch> b, Vec<float, Arch> x, Vec<float, Arch> y) {
  return xsimd::select(a < b, x, y);
}

}  // namespace
}  // namespace saccade::kernels
