// Functions of one number, in double: the specification of kernels::Unary.
#pragma once

#include <cmath>

#include "kernels/kernels.h"

namespace saccade::reference {

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// x * s where s, a probability that vanishes for x -> -inf, does so faster than x grows.
inline double gated(double x, double s) { return s == 0 ? std::copysign(0.0, x) : x * s; }

// x Phi(x), Phi(x) = erfc(-x / sqrt(2)) / 2
inline double gelu_erf(double x) { return gated(x, 0.5 * std::erfc(-x * std::sqrt(0.5))); }

// x (1 + tanh(u)) / 2 = x sigmoid(2u), u = sqrt(2 / pi) (x + 0.044715 x^3)
inline double gelu_tanh(double x) { return gated(x, sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

inline double silu(double x) { return gated(x, sigmoid(x)); }

inline double unary(kernels::Unary f, double x) {
  switch (f) {
    case kernels::Unary::kIdentity:
      return x;
    case kernels::Unary::kRelu:
      return x < 0 ? 0 : x;
    case kernels::Unary::kGeluErf:
      return gelu_erf(x);
    case kernels::Unary::kGeluTanh:
      return gelu_tanh(x);
    case kernels::Unary::kSilu:
      return silu(x);
    case kernels::Unary::kTanh:
      return std::tanh(x);
    case kernels::Unary::kSigmoid:
      return sigmoid(x);
    case kernels::Unary::kErf:
      return std::erf(x);
    case kernels::Unary::kExp2:
      return std::exp2(x);
  }
  return NAN;
}

}  // namespace saccade::reference
