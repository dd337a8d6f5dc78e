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

// Vector registers that a loop may fill: one less on SSE2, where a product waits for its sum, two less on NEON, where compilers load
// in pairs.
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
  float best = lanes[0];
  for (size_t i = 1; i < kLanes<Arch>; ++i) best = lanes[i] > best ? lanes[i] : best;
  return best;
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

// ---- register tiles (matmul, attention) ----

// A number that multiplies whole vectors: a broadcast register, or on NEON a lane, which its FMA takes as it is (a broadcast there
// would take time from the FMA units).
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

// Loops over a constant number of registers: without full unrolling they would live in memory.
#if defined(__clang__)
#define SACCADE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SACCADE_UNROLL _Pragma("GCC unroll 64")
#endif

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
