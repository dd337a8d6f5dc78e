// The specification of attention in double precision: read it beside AttentionArgs in kernels/kernels.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/kernels.h"

namespace saccade::reference {

struct AttentionResult {
  std::vector<double> out;      // [queries][value_dim]
  std::vector<double> lse;      // [queries]
  std::vector<double> weights;  // [queries][keys]
  std::vector<double> scores;   // [queries][keys], raw
};

inline bool allowed(const kernels::AttentionArgs& a, int64_t i, int64_t j) {
  const int64_t p = i + a.position;
  if (j < p - a.left || j > p + a.right) return false;
  if (a.mask != nullptr && a.mask[i * a.mask_row_stride + j * a.mask_column_stride] == 0) return false;
  return a.bias == nullptr || a.bias[i * a.bias_row_stride + j * a.bias_column_stride] != -std::numeric_limits<float>::infinity();
}

// Query rows [0, queries) of `a` over keys k [keys][k_stride] and values v [keys][v_stride]; the output pointers of `a` are not
// used.
inline AttentionResult attention(const kernels::AttentionArgs& a, size_t queries, const float* k, size_t k_stride, const float* v,
                                 size_t v_stride) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  AttentionResult result;
  result.out.assign(queries * a.value_dim, 0.0);
  result.lse.assign(queries, -kInf);
  result.weights.assign(queries * a.keys, 0.0);
  result.scores.assign(queries * a.keys, 0.0);
  for (size_t i = 0; i < queries; ++i) {
    double* raw = result.scores.data() + i * a.keys;
    std::vector<double> s(a.keys);
    double m = -kInf;
    bool nan = false;
    for (size_t j = 0; j < a.keys; ++j) {
      for (size_t c = 0; c < a.head_dim; ++c) raw[j] += double{a.q[i * a.q_stride + c]} * double{k[j * k_stride + c]};
      if (!allowed(a, static_cast<int64_t>(i), static_cast<int64_t>(j))) continue;
      const int64_t distance = static_cast<int64_t>(j) - static_cast<int64_t>(i), radius = a.relative_radius;
      s[j] = double{a.scale} * raw[j];
      if (a.softcap != 0) s[j] = a.softcap * std::tanh(s[j] / a.softcap);
      if (a.bias != nullptr) s[j] += a.bias[i * a.bias_row_stride + j * a.bias_column_stride];
      if (a.relative_bias != nullptr) s[j] += a.relative_bias[std::clamp(distance, -radius, radius) + radius];
      s[j] -= double{a.alibi_slope} * std::fabs(static_cast<double>(distance - a.position));
      nan = nan || std::isnan(s[j]);
      m = std::max(m, s[j]);
    }
    if (m == -kInf && !nan) continue;  // no allowed key, or none with a score above -inf
    double sum = 0;
    for (size_t j = 0; j < a.keys; ++j) {
      if (allowed(a, static_cast<int64_t>(i), static_cast<int64_t>(j))) sum += std::exp(s[j] - m);
    }
    for (size_t j = 0; j < a.keys; ++j) {
      if (!allowed(a, static_cast<int64_t>(i), static_cast<int64_t>(j))) continue;
      const double w = result.weights[i * a.keys + j] = std::exp(s[j] - m) / sum;
      for (size_t c = 0; c < a.value_dim; ++c) result.out[i * a.value_dim + c] += w * double{v[j * v_stride + c]};
    }
    result.lse[i] = m + std::log(sum);
  }
  return result;
}

}  // namespace saccade::reference
