// A problem for attention() in the dense layout [batch, heads, rows, width]: laid out in memory in three ways, run, brought back,
// and solved in double precision by the loops of tests/reference/attention.h.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "saccade/attention.h"
#include "tests/reference/attention.h"
#include "tests/support/buffer.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace saccade::test {

struct Problem {
  int64_t batch = 1, heads = 1, kv_heads = 1, queries = 0, keys = 0, head_dim = 0, value_dim = 0;
  std::vector<float> q, k, v;
  std::vector<int64_t> q_lengths, kv_lengths;  // empty: full
  // Options, and the views of dense tensors: bias and mask.
  AttentionArgs options;
  std::vector<float> bias, slopes, relative;
  std::vector<uint8_t> mask;

  Problem() = default;
  Problem(Random& random, int64_t b, int64_t h, int64_t kv, int64_t rows_q, int64_t rows_k, int64_t d, int64_t dv)
      : batch(b), heads(h), kv_heads(kv), queries(rows_q), keys(rows_k), head_dim(d), value_dim(dv) {
    q.resize(b * h * rows_q * d), k.resize(b * kv * rows_k * d), v.resize(b * kv * rows_k * dv);
    for (auto* x : {&q, &k, &v}) random.fill(*x, -1.5f, 1.5f);
  }
  int64_t q_length(int64_t b) const { return q_lengths.empty() ? queries : q_lengths[b]; }
  int64_t kv_length(int64_t b) const { return kv_lengths.empty() ? keys : kv_lengths[b]; }
  float& key(int64_t b, int64_t h, int64_t j, int64_t c) { return k[((b * kv_heads + h) * keys + j) * head_dim + c]; }
  float& value(int64_t b, int64_t h, int64_t j, int64_t c) { return v[((b * kv_heads + h) * keys + j) * value_dim + c]; }
  void set_bias(std::vector<float> values, std::vector<int64_t> shape) {
    bias = std::move(values);
    options.bias.data = bias.data();
    std::copy_n(shape.begin(), 4, options.bias.shape);
  }
  void set_mask(std::vector<uint8_t> values, std::vector<int64_t> shape) {
    mask = std::move(values);
    options.mask.data = mask.data();
    std::copy_n(shape.begin(), 4, options.mask.shape);
  }
};

// Dense: [batch, heads, queries, value_dim], [batch, heads, queries], [batch, heads, queries, keys] twice. Empty: not asked for.
template <class T>
struct Solution {
  std::vector<T> out, lse, weights, scores;
};

// kGaps is kBshd with gaps between rows and tensors that must stay as they were.
enum class Memory { kBhsd, kBshd, kGaps, kPacked };
inline const char* name(Memory memory) {
  constexpr const char* kNames[] = {"bhsd", "bshd", "gaps", "packed"};
  return kNames[static_cast<int>(memory)];
}

// One tensor in guarded memory; what is not a row of a live token is NaN (bits all one).
struct Placed {
  Guarded<float> floats;
  HeadsView<float> view;
  std::vector<int64_t> offsets;  // packed only
};

inline Placed place(const std::vector<float>* dense, Memory memory, int64_t batch, int64_t heads, int64_t rows, int64_t width,
                    const std::vector<int64_t>& lengths) {
  const auto length = [&](int64_t b) { return lengths.empty() ? rows : lengths[b]; };
  std::vector<int64_t> offsets = {0};
  for (int64_t b = 0; b < batch; ++b) offsets.push_back(offsets.back() + length(b));
  HeadsView<float> view;
  const int64_t gap = memory == Memory::kGaps ? 3 : 0;
  if (memory == Memory::kBhsd) {
    view = bhsd<float>(nullptr, rows, heads, width);
  } else if (memory == Memory::kPacked) {
    view = packed_heads<float>(nullptr, heads, width);
  } else {
    view = {nullptr, rows * heads * (width + gap) + 5 * gap, width + gap, heads * (width + gap)};
  }
  const bool packed = memory == Memory::kPacked;
  if (!packed) offsets.clear();
  const auto at = [&](int64_t b, int64_t h, int64_t i) {
    return (packed ? offsets[b] * view.row_stride : b * view.batch_stride) + h * view.head_stride + i * view.row_stride;
  };
  int64_t size = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t last = packed ? length(b) : rows;
    if (last > 0) size = std::max(size, at(b, heads - 1, last - 1) + width);
  }
  Guarded<float> floats(static_cast<size_t>(size));
  view.data = floats.data();
  if (dense != nullptr) {
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t i = 0; i < length(b); ++i)
          std::copy_n(dense->data() + ((b * heads + h) * rows + i) * width, width, view.data + at(b, h, i));
      }
    }
  }
  return {std::move(floats), view, std::move(offsets)};
}

inline HeadsView<const float> as_const(const HeadsView<float>& view) {
  return {view.data, view.batch_stride, view.head_stride, view.row_stride};
}

// The arguments of a problem whose tensors lie at q, k, v and out; extras: lse, weights and scores go to `solution`.
struct Run {
  Status status;
  Solution<float> solution;
};
inline Run run(const Problem& p, Workspace& workspace, Memory memory = Memory::kBhsd, bool extras = true,
               const std::atomic<bool>* stop = nullptr) {
  const Placed q = place(&p.q, memory, p.batch, p.heads, p.queries, p.head_dim, p.q_lengths);
  const Placed k = place(&p.k, memory, p.batch, p.kv_heads, p.keys, p.head_dim, p.kv_lengths);
  const Placed v = place(&p.v, memory, p.batch, p.kv_heads, p.keys, p.value_dim, p.kv_lengths);
  Placed out = place(nullptr, memory, p.batch, p.heads, p.queries, p.value_dim, p.q_lengths);
  Run result;
  Solution<float>& s = result.solution;
  const int64_t rows = p.batch * p.heads * p.queries;
  s.out.resize(rows * p.value_dim);
  if (extras) s.lse.assign(rows, 77), s.weights.assign(rows * p.keys, 77), s.scores.assign(rows * p.keys, 77);

  AttentionArgs args = p.options;
  args.batch = p.batch, args.heads = p.heads, args.kv_heads = p.kv_heads, args.queries = p.queries, args.keys = p.keys;
  args.head_dim = p.head_dim, args.value_dim = p.value_dim;
  args.q = as_const(q.view), args.k = as_const(k.view), args.v = as_const(v.view), args.out = out.view;
  if (memory == Memory::kPacked) {
    args.q_offsets = q.offsets, args.kv_offsets = k.offsets;
  } else {
    args.q_lengths = p.q_lengths, args.kv_lengths = p.kv_lengths;
  }
  args.alibi_slopes = p.slopes, args.relative_bias = p.relative;
  if (extras) args.lse = s.lse.data(), args.weights = s.weights.data(), args.scores = s.scores.data();
  args.stop = stop;
  result.status = attention(args, workspace);
  if (!result.status.ok()) return result;

  for (int64_t b = 0; b < p.batch; ++b) {
    const int64_t written = memory == Memory::kPacked ? p.q_length(b) : p.queries;
    const int64_t start = memory == Memory::kPacked ? q.offsets[b] * out.view.row_stride : b * out.view.batch_stride;
    for (int64_t h = 0; h < p.heads; ++h) {
      for (int64_t i = 0; i < written; ++i) {
        float* row = out.view.data + start + h * out.view.head_stride + i * out.view.row_stride;
        std::copy_n(row, p.value_dim, s.out.data() + ((b * p.heads + h) * p.queries + i) * p.value_dim);
        std::memset(row, 0xff, p.value_dim * sizeof(float));
      }
    }
  }
  size_t kept = 0;  // what is left was not ours to write
  for (uint32_t bits = ~0u; kept < out.floats.size() && bits == ~0u; kept += bits == ~0u)
    std::memcpy(&bits, &out.floats[kept], 4);
  EXPECT_EQ(kept, out.floats.size()) << "written between rows in " << name(memory);
  return result;
}

// The double reference, head by head.
inline Solution<double> solve(const Problem& p) {
  Solution<double> s;
  const int64_t rows = p.batch * p.heads * p.queries;
  s.out.assign(rows * p.value_dim, 0), s.lse.assign(rows, -std::numeric_limits<double>::infinity());
  s.weights.assign(rows * p.keys, 0), s.scores.assign(rows * p.keys, 0);
  const AttentionArgs& o = p.options;
  for (int64_t b = 0; b < p.batch; ++b) {
    const int64_t nq = p.q_length(b), nk = p.kv_length(b);
    for (int64_t h = 0; h < p.heads; ++h) {
      const int64_t kv = b * p.kv_heads + h / (p.heads / p.kv_heads), row0 = (b * p.heads + h) * p.queries;
      kernels::AttentionArgs a;
      a.q = p.q.data() + row0 * p.head_dim, a.q_stride = static_cast<size_t>(p.head_dim);
      a.keys = static_cast<size_t>(nk), a.head_dim = static_cast<size_t>(p.head_dim),
      a.value_dim = static_cast<size_t>(p.value_dim);
      a.scale = o.scale ? *o.scale : 1 / std::sqrt(static_cast<float>(p.head_dim));
      a.softcap = o.softcap;
      a.position = o.causal == Causal::kBottomRight ? nk - nq : 0;
      a.left = o.window_left.value_or(kernels::kUnlimited), a.right = o.window_right.value_or(kernels::kUnlimited);
      if (o.causal != Causal::kNone) a.right = 0;
      if (!p.slopes.empty()) a.alibi_slope = p.slopes[h];
      if (!p.relative.empty()) {
        const int64_t width = static_cast<int64_t>(p.relative.size()) / p.heads;
        a.relative_bias = p.relative.data() + h * width, a.relative_radius = width / 2;
      }
      // Element (i, j) of a broadcast tensor, spread out to [nq, nk].
      const auto spread = [&](const auto& x, auto& to) {
        if (x.data == nullptr) return;
        const auto at = [&](int d, int64_t i) { return x.shape[d] == 1 ? 0 : i; };
        for (int64_t i = 0; i < nq; ++i) {
          for (int64_t j = 0; j < nk; ++j) {
            to.push_back(x.data[((at(0, b) * x.shape[1] + at(1, h)) * x.shape[2] + at(2, i)) * x.shape[3] + at(3, j)]);
          }
        }
      };
      std::vector<float> bias;
      std::vector<uint8_t> mask;
      spread(o.bias, bias), spread(o.mask, mask);
      if (o.bias.data != nullptr) a.bias = bias.data(), a.bias_row_stride = a.keys, a.bias_column_stride = 1;
      if (o.mask.data != nullptr) a.mask = mask.data(), a.mask_row_stride = a.keys, a.mask_column_stride = 1;
      const auto r = reference::attention(a, static_cast<size_t>(nq), p.k.data() + kv * p.keys * p.head_dim, a.head_dim,
                                          p.v.data() + kv * p.keys * p.value_dim, a.value_dim);
      std::copy(r.out.begin(), r.out.end(), s.out.data() + row0 * p.value_dim);
      std::copy(r.lse.begin(), r.lse.end(), s.lse.data() + row0);
      for (int64_t i = 0; i < nq; ++i) {
        std::copy_n(r.weights.begin() + i * nk, nk, s.weights.data() + (row0 + i) * p.keys);
        std::copy_n(r.scores.begin() + i * nk, nk, s.scores.data() + (row0 + i) * p.keys);
      }
    }
  }
  return s;
}

inline double largest(const std::vector<float>& x) {
  double largest = 1;
  for (float value : x) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(double{value}));
  }
  return largest;
}

// Within `bound` relative to the largest value (out), to 1 (weights) and to each number (lse); scores within what a dot product
// of head_dim terms may be off.
inline void expect_close(const Problem& p, const Solution<float>& got, const Solution<double>& want, const std::string& what,
                         double bound = 2e-5, uint32_t seed = 0) {
  Comparison out(what + " out", seed), lse(what + " lse", seed), weights(what + " weights", seed), scores(what + " scores", seed);
  ASSERT_EQ(got.out.size(), want.out.size());
  const double value = largest(p.v), dot = kEps * static_cast<double>(p.head_dim) * largest(p.q) * largest(p.k);
  for (size_t i = 0; i < want.out.size(); ++i) out.add(i / p.value_dim, i % p.value_dim, got.out[i], want.out[i], bound * value);
  for (size_t i = 0; i < got.lse.size(); ++i)
    lse.add(i, 0, got.lse[i], want.lse[i], bound * std::max(1.0, std::fabs(want.lse[i])));
  for (size_t i = 0; i < got.weights.size(); ++i)
    weights.add(i / p.keys, i % p.keys, got.weights[i], want.weights[i], want.weights[i] == 0 ? 0 : bound);
  for (size_t i = 0; i < got.scores.size(); ++i)
    scores.add(i / p.keys, i % p.keys, got.scores[i], want.scores[i], dot * std::sqrt(p.head_dim));
  EXPECT_TRUE(out.result());
  EXPECT_TRUE(lse.result());
  EXPECT_TRUE(weights.result());
  EXPECT_TRUE(scores.result());
}

inline testing::AssertionResult same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return testing::AssertionFailure() << a.size() << " and " << b.size() << " numbers";
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same_bits(a[i], b[i])) return testing::AssertionFailure() << "number " << i << ": " << a[i] << " and " << b[i];
  }
  return testing::AssertionSuccess();
}
inline testing::AssertionResult same_bits(const Solution<float>& a, const Solution<float>& b) {
  for (auto part : {&Solution<float>::out, &Solution<float>::lse, &Solution<float>::weights, &Solution<float>::scores}) {
    if (auto result = same_bits(a.*part, b.*part); !result) return result;
  }
  return testing::AssertionSuccess();
}

}  // namespace saccade::test
