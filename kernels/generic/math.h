// exp2, erf, tanh and the activations, without a branch and, but for tanh, sigmoid, SiLU and tanh-GELU, without a division.
//
// Each is a clamp, a polynomial and a power of two: 2^P = 2^n (1 + r q(r)) with n the whole number nearest to P and r = P - n.
// Adding 1.5 * 2^23 rounds to nearest and leaves n in the low bits of the sum, so 2^n costs one shift. Where P is a product, r
// comes from an FMA and P itself is never rounded. The polynomials come from tools/fit_math.py.
//
// Largest errors (tests/kernels/math_test.cc; ulp of the result, normal results; NaN gives NaN):
//   exp2 1.5 ulp on [-126, 128), 0 below, +inf above        erf, tanh, sigmoid, SiLU 4 ulp
//   GELU, both forms: 4 eps max(|gelu(x)|, |x| / 100), eps = 2^-23, with the tail for x < 0 computed as such and never as 1 - ...
#pragma once

#include "kernels/generic/group.h"
#include "kernels/generic/vec.h"
#include "kernels/kernels.h"

namespace saccade::kernels {
namespace {

// 2^r = 1 + r q(r), |r| <= 1/2
constexpr float kExp2[] = {0.693147182f, 0.240226507f, 0.055503659f, 0.0096180439f, 0.00133891264f, 0.0001550093f};
// e^r = 1 + r q(r), |r| <= ln(2) / 2
constexpr float kExp[] = {1.0f, 0.49999997f, 0.166665494f, 0.0416673049f, 0.00836696476f, 0.00138862384f};
// erfc(a) = 2^(a h(a)), 0 <= a < 3.93
constexpr float kErf[] = {-1.62790704f,    -0.918447375f,   -0.148280442f,    0.0276483949f,  0.000194183493f,
                          -0.00236083963f, 0.000884974957f, -0.000160769516f, 1.22273477e-05f};
// 2 Phi(-a) = erfc(a / sqrt(2)) = 2^(a g(a)), 0 <= a < 6.2, and a g(a) falls on to -126 at a = 10.375
constexpr float kGelu[] = {-1.15110421f,     -0.459222704f,   -0.0524263792f,  0.00690650707f,  5.27843367e-05f,
                           -0.000317392725f, 9.19495142e-05f, -1.4608403e-05f, 1.31376066e-06f, -5.2254709e-08f};

// x + kRound has n = the whole number nearest to x in its low bits (|x| < 2^22); with kRound + 127 these are the exponent field
// of 2^n.
constexpr float kRound = 12582912.0f;

// c[first] + c[first + 1] x + c[first + 2] x^2 + ...
template <class Arch, size_t N>
SACCADE_INLINE Vec<float, Arch> horner(const float (&c)[N], Vec<float, Arch> x, size_t first = 0) {
  Vec<float, Arch> y = broadcast<Arch>(c[N - 1]);
  for (size_t i = N - 1; i-- > first;) y = fma<Arch>(y, x, broadcast<Arch>(c[i]));
  return y;
}

template <class Arch>
SACCADE_INLINE Vec<float, Arch> relu(Vec<float, Arch> x) {
  return max<Arch>(broadcast<Arch>(0.0f), x);  // x second: NaN and -0 are kept
}

// 2^x for x <= 0, the inner loop of softmax: 12 operations. 0 for x < -126.5. The same bits as exp2 down to -126.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> exp2_nonpositive(Vec<float, Arch> x) {
  const Vec<float, Arch> magic = broadcast<Arch>(kRound + 127.0f);
  x = max<Arch>(broadcast<Arch>(-127.0f), x);  // the exponent field of 2^-127 is 0, that is the number 0
  const Vec<float, Arch> t = x + magic;
  const Vec<float, Arch> r = x - (t - magic);
  return fma<Arch>(r, horner<Arch>(kExp2, r), broadcast<Arch>(1.0f)) * pow2_of_field<Arch>(t);
}

// 2^x. n reaches 128 (times a mantissa below 1), so n is added to the exponent instead; at x = 128 that makes infinity.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> exp2(Vec<float, Arch> x) {
  const Vec<float, Arch> magic = broadcast<Arch>(kRound);
  const Vec<float, Arch> below = min<Arch>(broadcast<Arch>(128.0f), x);
  const Vec<float, Arch> t = below + magic;
  const Vec<float, Arch> r = below - (t - magic);
  Vec<float, Arch> y = add_to_field<Arch>(fma<Arch>(r, horner<Arch>(kExp2, r), broadcast<Arch>(1.0f)), t);
  y = fma<Arch>(below, broadcast<Arch>(0.0f), y);  // NaN stays NaN whatever its payload did to the exponent
  return select_less<Arch>(x, broadcast<Arch>(-126.0f), broadcast<Arch>(0.0f), y);
}

// e^x = 2^n e^r with r = x - n ln(2). ln(2) in two parts, the first of 9 bits, so that n times it is exact for |n| < 2^15.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> exp_remainder(Vec<float, Arch> x, Vec<float, Arch> n) {
  x = fnma<Arch>(n, broadcast<Arch>(0.693359375f), x);
  return fnma<Arch>(n, broadcast<Arch>(-2.12194440e-4f), x);
}
constexpr float kLog2E = 1.44269504f;

// 2^P - 1 for P = a b <= 0, |P| < 126: 2^n r q(r) + (2^n - 1). Near 0 n is 0, so nothing cancels.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> exp2m1_of_product(Vec<float, Arch> a, Vec<float, Arch> b) {
  const Vec<float, Arch> magic = broadcast<Arch>(kRound + 127.0f);
  const Vec<float, Arch> t = fma<Arch>(a, b, magic);
  const Vec<float, Arch> r = fma_exact<Arch>(a, b, magic - t);
  const Vec<float, Arch> scale = pow2_of_field<Arch>(t);
  return fma<Arch>(scale, r * horner<Arch>(kExp2, r), scale - broadcast<Arch>(1.0f));
}

// erf(x) = sign(x) (1 - 2^(a h(a))), a = |x|; 1 from 4 on.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> erf(Vec<float, Arch> x) {
  const Vec<float, Arch> a = min<Arch>(broadcast<Arch>(4.0f), abs<Arch>(x));
  return copy_sign<Arch>(exp2m1_of_product<Arch>(a, horner<Arch>(kErf, a)), x);
}

// tanh(x) = sign(x) (1 - E) / (1 + E), E = e^(-2|x|); 1 from 10 on.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> tanh(Vec<float, Arch> x) {
  const Vec<float, Arch> a = min<Arch>(broadcast<Arch>(10.0f), abs<Arch>(x));
  const Vec<float, Arch> e = exp2m1_of_product<Arch>(a, broadcast<Arch>(-2.0f * kLog2E));
  return copy_sign<Arch>(divide<Arch>(e, e + broadcast<Arch>(2.0f)), x);
}

// 1 / (1 + e^-x). e^89 is taken as infinity: the result is 0 where it would not be normal.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> sigmoid(Vec<float, Arch> x) {
  const Vec<float, Arch> magic = broadcast<Arch>(kRound + 127.0f);
  x = min<Arch>(broadcast<Arch>(87.0f), max<Arch>(broadcast<Arch>(-89.0f), x));
  const Vec<float, Arch> t = fnma<Arch>(x, broadcast<Arch>(kLog2E), magic);
  const Vec<float, Arch> r = exp_remainder<Arch>(broadcast<Arch>(0.0f) - x, t - magic);
  const Vec<float, Arch> e = fma<Arch>(r, horner<Arch>(kExp, r), broadcast<Arch>(1.0f)) * pow2_of_field<Arch>(t);
  return divide<Arch>(broadcast<Arch>(1.0f), broadcast<Arch>(1.0f) + e);
}

// x / (1 + e^-x). The result is normal down to x = -91.8, where e^-x = 2^132 is not a float: below -64 everything under the
// fraction bar is scaled by 2^-40, and so is the quotient.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> silu(Vec<float, Arch> x) {
  const Vec<float, Arch> magic = broadcast<Arch>(kRound + 127.0f), zero = broadcast<Arch>(0.0f), one = broadcast<Arch>(1.0f);
  const Vec<float, Arch> above = max<Arch>(broadcast<Arch>(-110.0f), x);
  const Vec<float, Arch> z = min<Arch>(broadcast<Arch>(87.0f), above);
  const Vec<float, Arch> t = fnma<Arch>(z, broadcast<Arch>(kLog2E), magic);
  const Vec<float, Arch> r = exp_remainder<Arch>(zero - z, t - magic);
  const Vec<float, Arch> mantissa = fma<Arch>(r, horner<Arch>(kExp, r), one);
  const Vec<float, Arch> limit = broadcast<Arch>(-64.0f);
  const Vec<float, Arch> scale = select_less<Arch>(x, limit, broadcast<Arch>(0x1p-40f), one);
  const Vec<float, Arch> shift = select_less<Arch>(x, limit, broadcast<Arch>(-40.0f), zero);
  return divide<Arch>(above, fma<Arch>(mantissa, pow2_of_field<Arch>(t + shift), scale)) * scale;
}

// x Phi(x) = max(x, 0) - a Phi(-a), a = |x|, Phi(-a) = 2^(a g(a) - 1).
template <class Arch>
SACCADE_INLINE Vec<float, Arch> gelu_erf(Vec<float, Arch> x) {
  const Vec<float, Arch> magic = broadcast<Arch>(kRound + 126.0f);
  const Vec<float, Arch> a = min<Arch>(broadcast<Arch>(10.375f), abs<Arch>(x));  // there the exponent field, and so Phi(-a), is 0
  const Vec<float, Arch> c0 = broadcast<Arch>(kGelu[0]), rest = horner<Arch>(kGelu, a, 1);
  const Vec<float, Arch> g = fma<Arch>(a, rest, c0);
  const Vec<float, Arch> t = fma<Arch>(a, g, magic);
  Vec<float, Arch> r = fma_exact<Arch>(a, g, magic - t);
  if constexpr (!kFused) r = fma<Arch>(a, a * rest - (g - c0), r);  // what g's last addition lost
  const Vec<float, Arch> tail = fma<Arch>(r, horner<Arch>(kExp2, r), broadcast<Arch>(1.0f)) * pow2_of_field<Arch>(t);
  return fnma<Arch>(a, tail, relu<Arch>(x));
}

// 0.5 x (1 + tanh(u)) = max(x, 0) - a / (1 + e^(2u(a))), u(a) = sqrt(2 / pi) (a + 0.044715 a^3), a = |x|.
template <class Arch>
SACCADE_INLINE Vec<float, Arch> gelu_tanh(Vec<float, Arch> x) {
  const Vec<float, Arch> magic = broadcast<Arch>(kRound + 127.0f), one = broadcast<Arch>(1.0f);
  const Vec<float, Arch> a = min<Arch>(broadcast<Arch>(10.066f), abs<Arch>(x));  // there e^(2u) is 2^128: infinity
  // 2 log2(e) sqrt(2 / pi), and 0.044715 of it
  const Vec<float, Arch> k = fma<Arch>(a * a, broadcast<Arch>(0.102943240f), broadcast<Arch>(2.30220819f));
  const Vec<float, Arch> t = fma<Arch>(a, k, magic);
  const Vec<float, Arch> r = fma_exact<Arch>(a, k, magic - t);
  const Vec<float, Arch> e = fma<Arch>(r, horner<Arch>(kExp2, r), one) * pow2_of_field<Arch>(t);
  return relu<Arch>(x) - divide<Arch>(a, one + e);
}

// F(x): what epilogues and maps apply.
template <Unary F, class Arch>
SACCADE_INLINE Vec<float, Arch> apply(Vec<float, Arch> x) {
  if constexpr (F == Unary::kRelu) return relu<Arch>(x);
  if constexpr (F == Unary::kGeluErf) return gelu_erf<Arch>(x);
  if constexpr (F == Unary::kGeluTanh) return gelu_tanh<Arch>(x);
  if constexpr (F == Unary::kSilu) return silu<Arch>(x);
  if constexpr (F == Unary::kTanh) return tanh<Arch>(x);
  if constexpr (F == Unary::kSigmoid) return sigmoid<Arch>(x);
  if constexpr (F == Unary::kErf) return erf<Arch>(x);
  if constexpr (F == Unary::kExp2) return exp2<Arch>(x);
  return x;
}

// body.operator()<F>() for the F that is known only now.
template <class Body>
SACCADE_INLINE void for_unary(Unary f, Body body) {
  switch (f) {
    case Unary::kIdentity:
      return body.template operator()<Unary::kIdentity>();
    case Unary::kRelu:
      return body.template operator()<Unary::kRelu>();
    case Unary::kGeluErf:
      return body.template operator()<Unary::kGeluErf>();
    case Unary::kGeluTanh:
      return body.template operator()<Unary::kGeluTanh>();
    case Unary::kSilu:
      return body.template operator()<Unary::kSilu>();
    case Unary::kTanh:
      return body.template operator()<Unary::kTanh>();
    case Unary::kSigmoid:
      return body.template operator()<Unary::kSigmoid>();
    case Unary::kErf:
      return body.template operator()<Unary::kErf>();
    case Unary::kExp2:
      return body.template operator()<Unary::kExp2>();
  }
}

}  // namespace
}  // namespace saccade::kernels
