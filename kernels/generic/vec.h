// The only file, beside group.h, that names xsimd. Vec<T, Arch> has no default Arch, and every function takes its Arch from its
// arguments, so that code of one ISA cannot be mixed with another's. Everything lives in an anonymous namespace: the objects of
// the ISAs must not share a single symbol (the linker would pick one of them for the whole program).
#pragma once

#include <cstddef>
#include <cstdint>

#include <xsimd/xsimd.hpp>

#define SACCADE_INLINE inline __attribute__((always_inline))
#define SACCADE_LAMBDA __attribute__((always_inline))  // behind the parameters of a lambda

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

// Loops over a constant number of registers: without full unrolling they would live in memory.
#if defined(__clang__)
#define SACCADE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SACCADE_UNROLL _Pragma("GCC unroll 64")
#endif

// Vector registers that a loop may fill: one less on SSE2, where a product waits for its sum, two less on NEON, where compilers
// load in pairs.
template <class Arch>
#if defined(__AVX512F__)
inline constexpr size_t kRegisters = 32;
#elif defined(__aarch64__)
inline constexpr size_t kRegisters = 30;
#elif defined(__AVX2__)
inline constexpr size_t kRegisters = 16;
#else
inline constexpr size_t kRegisters = 15;
#endif

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

// a * b + c in one rounding (two on SSE2, which has no FMA). xsimd 8.1 multiplies and adds in its fma on AVX-512 and its fnma on
// NEON.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> fma(Vec<float, Arch> a, Vec<float, Arch> b, Vec<float, Arch> c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__ARM_NEON)
  return vfmaq_f32(c, a, b);
#else
  return xsimd::fma(a, b, c);
#endif
}
// c - a * b, likewise.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> fnma(Vec<float, Arch> a, Vec<float, Arch> b, Vec<float, Arch> c) {
#if defined(__AVX512F__)
  return _mm512_fnmadd_ps(a, b, c);
#elif defined(__ARM_NEON)
  return vfmsq_f32(c, a, b);
#else
  return xsimd::fnma(a, b, c);
#endif
}
// xsimd names the result of bitwise_cast by its vector (8.1) or by its element (newer ones).
template <class T, class U, class Arch>
SACCADE_INLINE Vec<T, Arch> cast_bits(Vec<U, Arch> x) {
  if constexpr (requires { requires __is_same(decltype(xsimd::bitwise_cast<T>(x)), Vec<T, Arch>); }) {
    return xsimd::bitwise_cast<T>(x);
  } else {
    return xsimd::bitwise_cast<Vec<T, Arch>>(x);
  }
}
// The bits of a vector as integers and back. (xsimd's casts and shifts on NEON are weak functions, called through pointers.)
template <class Arch>
SACCADE_INLINE Vec<int32_t, Arch> bits_of(Vec<float, Arch> x) {
#if defined(__ARM_NEON)
  return vreinterpretq_s32_f32(x);
#else
  return cast_bits<int32_t>(x);
#endif
}
template <class Arch>
SACCADE_INLINE Vec<float, Arch> float_of(Vec<int32_t, Arch> x) {
#if defined(__ARM_NEON)
  return vreinterpretq_f32_s32(x);
#else
  return cast_bits<float>(x);
#endif
}
template <int kBits, class Arch>
SACCADE_INLINE Vec<int32_t, Arch> shift_left(Vec<int32_t, Arch> x) {
#if defined(__ARM_NEON)
  return vshlq_n_s32(x, kBits);
#else
  return x << kBits;
#endif
}

// Whether fma rounds once.
#if defined(__FMA__) || defined(__ARM_NEON)
inline constexpr bool kFused = true;
#else
inline constexpr bool kFused = false;
#endif
// a * b + c in one rounding on every ISA, for c near -a * b. Without FMA the factors are split into halves of 12 bits, whose
// products are exact.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> fma_exact(Vec<float, Arch> a, Vec<float, Arch> b, Vec<float, Arch> c) {
  if constexpr (kFused) return fma<Arch>(a, b, c);
  const Vec<int32_t, Arch> high(static_cast<int32_t>(0xfffff000));
  const Vec<float, Arch> a1 = float_of<Arch>(bits_of<Arch>(a) & high), a2 = a - a1;
  const Vec<float, Arch> b1 = float_of<Arch>(bits_of<Arch>(b) & high), b2 = b - b1;
  return (a1 * b1 + c) + (a1 * b2 + a2 * b);
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

// The larger of a and b; NaN if either is.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> max_keep_nan(Vec<float, Arch> a, Vec<float, Arch> b) {
  return xsimd::select(xsimd::isnan(a), a, max<Arch>(a, b));
}

// Rounded correctly. (xsimd's on NEON are Newton steps from an estimate, several ulp off, and so is its operator /.)
template <class Arch>
SACCADE_INLINE Vec<float, Arch> sqrt(Vec<float, Arch> x) {
#if defined(__ARM_NEON)
  return vsqrtq_f32(x);
#else
  return xsimd::sqrt(x);
#endif
}
template <class Arch>
SACCADE_INLINE Vec<float, Arch> divide(Vec<float, Arch> a, Vec<float, Arch> b) {
#if defined(__ARM_NEON)
  return vdivq_f32(a, b);
#else
  return a / b;
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

// The lanes of v folded by f: halves are combined until one lane is left.
template <class Arch, class F>
SACCADE_INLINE float fold_lanes(Vec<float, Arch> v, F f) {
#if defined(__SSE2__)
#if defined(__AVX512F__)
  const __m256 v8 = f(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 v4 = f(_mm256_castps256_ps128(v8), _mm256_extractf128_ps(v8, 1));
#elif defined(__AVX__)
  const __m128 v4 = f(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
#else
  const __m128 v4 = v;
#endif
  const __m128 v2 = f(v4, _mm_movehl_ps(v4, v4));
  return _mm_cvtss_f32(f(v2, _mm_shuffle_ps(v2, v2, 1)));
#else
  const float32x2_t v2 = f(vget_low_f32(v), vget_high_f32(v));
  return vget_lane_f32(f(v2, vrev64_f32(v2)), 0);
#endif
}
#if defined(__SSE2__)
struct AddLanes {
  SACCADE_INLINE __m128 operator()(__m128 a, __m128 b) const { return _mm_add_ps(a, b); }
#if defined(__AVX__)
  SACCADE_INLINE __m256 operator()(__m256 a, __m256 b) const { return _mm256_add_ps(a, b); }
#endif
};
struct MaxLanes {
  SACCADE_INLINE __m128 operator()(__m128 a, __m128 b) const { return _mm_max_ps(a, b); }
#if defined(__AVX__)
  SACCADE_INLINE __m256 operator()(__m256 a, __m256 b) const { return _mm256_max_ps(a, b); }
#endif
};
#else
struct AddLanes {
  SACCADE_INLINE float32x2_t operator()(float32x2_t a, float32x2_t b) const { return vadd_f32(a, b); }
};
struct MaxLanes {
  SACCADE_INLINE float32x2_t operator()(float32x2_t a, float32x2_t b) const { return vmax_f32(a, b); }
};
#endif
// Sum of all lanes, in an order fixed by the ISA.
template <class Arch>
SACCADE_INLINE float reduce_add(Vec<float, Arch> v) {
  return fold_lanes<Arch>(v, AddLanes{});
}
// Largest lane; NaN lanes may be dropped.
template <class Arch>
SACCADE_INLINE float reduce_max(Vec<float, Arch> v) {
  return fold_lanes<Arch>(v, MaxLanes{});
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
  SACCADE_UNROLL for (int i = 0; i < 16; i += 2) {  // 2 x 2 blocks inside each 128-bit part
    a[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
    a[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
  }
  SACCADE_UNROLL for (int i = 0; i < 16; i += 4) {  // 4 x 4: b[i + c] holds column 4 * part + c of rows i to i + 3
    b[i] = _mm512_shuffle_ps(a[i], a[i + 2], 0x44);
    b[i + 1] = _mm512_shuffle_ps(a[i], a[i + 2], 0xee);
    b[i + 2] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0x44);
    b[i + 3] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0xee);
  }
  SACCADE_UNROLL for (int c = 0; c < 4; ++c) {  // 4 x 4 parts
    const __m512 low_even = _mm512_shuffle_f32x4(b[c], b[c + 4], 0x88), low_odd = _mm512_shuffle_f32x4(b[c], b[c + 4], 0xdd);
    const __m512 high_even = _mm512_shuffle_f32x4(b[c + 8], b[c + 12], 0x88),
                 high_odd = _mm512_shuffle_f32x4(b[c + 8], b[c + 12], 0xdd);
    rows[c] = _mm512_shuffle_f32x4(low_even, high_even, 0x88);
    rows[c + 4] = _mm512_shuffle_f32x4(low_odd, high_odd, 0x88);
    rows[c + 8] = _mm512_shuffle_f32x4(low_even, high_even, 0xdd);
    rows[c + 12] = _mm512_shuffle_f32x4(low_odd, high_odd, 0xdd);
  }
#elif defined(__AVX__)
  __m256 a[8], b[8];
  SACCADE_UNROLL for (int i = 0; i < 8; i += 2) {
    a[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    a[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
  SACCADE_UNROLL for (int i = 0; i < 8; i += 4) {
    b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
    b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
    b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
    b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
  }
  SACCADE_UNROLL for (int c = 0; c < 4; ++c) {
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

// ---- register tiles (matmul, attention) ----

// A number that multiplies whole vectors: a broadcast register, or on NEON a lane, which its FMA takes as it is (a broadcast
// there would take time from the FMA units).
#if defined(__ARM_NEON)
template <class Arch>
using Factor = float;
#else
template <class Arch>
using Factor = Vec<float, Arch>;
#endif
template <class Arch>
SACCADE_INLINE Factor<Arch> load_factor(const float* p) {
  Factor<Arch> x(*p);
#if defined(__ARM_NEON)
  __asm__("" : "+w"(x));  // a plain load; without this some become load-and-broadcast
#endif
  return x;
}
// a * b + c as fma.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> fma_factor(Factor<Arch> a, Vec<float, Arch> b, Vec<float, Arch> c) {
#if defined(__ARM_NEON)
  return vfmaq_n_f32(c, b, a);
#else
  return fma<Arch>(a, b, c);
#endif
}

// Hides where a value came from, so that the compiler keeps it in a register instead of deriving it again.
template <class T>
SACCADE_INLINE T opaque(T x) {
  __asm__("" : "+r"(x));
  return x;
}

// Loads behind this stay behind it. GCC's scheduler for AArch64 would move them all to the top of a loop and spill.
SACCADE_INLINE void keep_order() {
#if defined(__ARM_NEON)
  __asm__ volatile("");
#endif
}

// Asks for the cache line of p: into the second level to be read, into the first to be written. Any address will do.
SACCADE_INLINE void prefetch_read(const void* p) { __builtin_prefetch(p, 0, 2); }
SACCADE_INLINE void prefetch_write(const void* p) { __builtin_prefetch(p, 1, 3); }

// ---- bit patterns (math.h) ----

// The number whose exponent field is the low 8 bits of t's pattern, bit 8 being its sign, and whose mantissa is 0.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> pow2_of_field(Vec<float, Arch> t) {
  return float_of<Arch>(shift_left<23, Arch>(bits_of<Arch>(t)));
}
// x with the low 9 bits of t's pattern added to sign and exponent field.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> add_to_field(Vec<float, Arch> x, Vec<float, Arch> t) {
  return float_of<Arch>(bits_of<Arch>(x) + shift_left<23, Arch>(bits_of<Arch>(t)));
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

// ---- lanes in pairs (rope.h) ----

// Lanes 1 0 3 2 5 4 ...
template <class Arch>
SACCADE_INLINE Vec<float, Arch> swap_pairs(Vec<float, Arch> x) {
#if defined(__AVX512F__)
  return _mm512_permute_ps(x, 0xb1);
#elif defined(__AVX__)
  return _mm256_permute_ps(x, 0xb1);
#elif defined(__SSE2__)
  return _mm_shuffle_ps(x, x, 0xb1);
#else
  return vrev64q_f32(x);
#endif
}
// Lanes 0 0 1 1 2 2 ... of the lower half.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> double_lanes(Vec<float, Arch> x) {
#if defined(__AVX512F__)
  return _mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7), x);
#elif defined(__AVX2__)
  return _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
#elif defined(__SSE2__)
  return _mm_unpacklo_ps(x, x);
#else
  return vzip1q_f32(x, x);
#endif
}
// x with the sign of every even lane turned.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> negate_even(Vec<float, Arch> x) {
  constexpr int32_t kSign = INT32_MIN;
  alignas(64) static constexpr int32_t kSigns[16] = {kSign, 0, kSign, 0, kSign, 0, kSign, 0,
                                                     kSign, 0, kSign, 0, kSign, 0, kSign, 0};
  return float_of<Arch>(bits_of<Arch>(x) ^ Vec<int32_t, Arch>::load_unaligned(kSigns));
}

// ---- 16-bit numbers (rows.h) ----

// Lanes uint16 from p, each in an int32.
template <class Arch>
SACCADE_INLINE Vec<int32_t, Arch> load_u16(const uint16_t* p) {
#if defined(__AVX512F__)
  return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
#elif defined(__AVX2__)
  return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#elif defined(__SSE2__)
  return _mm_unpacklo_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)), _mm_setzero_si128());
#else
  return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p)));
#endif
}
// The first n lanes from p, zeros behind them; reads nothing past p + n.
template <class Arch>
SACCADE_INLINE Vec<int32_t, Arch> load_u16_first(const uint16_t* p, size_t n) {
  uint16_t lanes[kLanes<Arch>] = {};
  for (size_t i = 0; i < n; ++i) lanes[i] = p[i];
  return load_u16<Arch>(lanes);
}
template <class Arch>
SACCADE_INLINE Vec<float, Arch> to_float(Vec<int32_t, Arch> x) {
  return xsimd::to_float(x);
}
// Where a < b, x; elsewhere, y.
template <class Arch>
SACCADE_INLINE Vec<int32_t, Arch> select_less(Vec<int32_t, Arch> a, Vec<int32_t, Arch> b, Vec<int32_t, Arch> x,
                                              Vec<int32_t, Arch> y) {
  return xsimd::select(a < b, x, y);
}

}  // namespace
}  // namespace saccade::kernels
