// One attention problem at guard pages, the kernel's run of it, and the comparison with the double reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "tests/reference/attention.h"
#include "tests/support/buffer.h"
#include "tests/support/compare.h"
#include "tests/support/isa.h"
#include "tests/support/random.h"

namespace saccade::kernels {

using reference::AttentionResult;
using test::Comparison;
using test::Guarded;
using test::kEps;
using test::Random;

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Floats at a guard page whose first one is at a cache line.
inline Guarded<float> scratch(size_t floats) { return Guarded<float>(round_up(floats, 16)); }

inline size_t extent(size_t rows, size_t width, size_t stride) { return rows == 0 ? 0 : (rows - 1) * stride + width; }

// One attention problem; every input ends at a guard page, and what lies between rows is NaN.
struct Problem {
  Problem(Random& random, size_t queries_, size_t keys_, size_t head_dim_, size_t value_dim_, size_t gap = 0)
      : queries(queries_),
        q_stride(head_dim_ + gap),
        k_stride(head_dim_ + 2 * gap),
        v_stride(value_dim_ + 3 * gap),
        q(extent(queries_, head_dim_, q_stride)),
        k(extent(keys_, head_dim_, k_stride)),
        v(extent(keys_, value_dim_, v_stride)) {
    options.keys = keys_;
    options.head_dim = head_dim_;
    options.value_dim = value_dim_;
    options.scale = 1.0f / std::sqrt(static_cast<float>(head_dim_));
    options.q = q.data();
    options.q_stride = q_stride;
    fill(random, q, queries, head_dim_, q_stride);
    fill(random, k, keys_, head_dim_, k_stride);
    fill(random, v, keys_, value_dim_, v_stride);
  }
  static void fill(Random& random, Guarded<float>& x, size_t rows, size_t width, size_t stride) {
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < width; ++c) x[r * stride + c] = random.uniform(-1.5f, 1.5f);
    }
  }
  float& key(size_t j, size_t c) { return k[j * k_stride + c]; }
  float& value(size_t j, size_t c) { return v[j * v_stride + c]; }
  AttentionResult want() const { return reference::attention(options, queries, k.data(), k_stride, v.data(), v_stride); }

  // Masks and biases of every shape of stride.
  void add_mask(Random& random, bool per_row, bool per_key, double keep) {
    mask = std::make_unique<Guarded<uint8_t>>((per_row ? queries : 1) * (per_key ? options.keys : 1));
    for (uint8_t& x : *mask) x = random.uniform(0, 1) < keep;
    options.mask = mask->data();
    options.mask_row_stride = per_row ? (per_key ? options.keys : 1) : 0;
    options.mask_column_stride = per_key ? 1 : 0;
  }
  void add_bias(Random& random, bool per_row, bool per_key, double drop) {
    bias = std::make_unique<Guarded<float>>((per_row ? queries : 1) * (per_key ? options.keys : 1));
    for (float& x : *bias) x = random.uniform(0, 1) < drop ? -kInf : random.uniform(-3, 3);
    options.bias = bias->data();
    options.bias_row_stride = per_row ? (per_key ? options.keys : 1) : 0;
    options.bias_column_stride = per_key ? 1 : 0;
  }
  // bias(i, j) with keys in the outer dimension.
  void add_transposed_bias(Random& random) {
    add_bias(random, true, true, 0.1);
    options.bias_row_stride = 1;
    options.bias_column_stride = queries;
  }
  void add_relative_bias(Random& random, int64_t radius) {
    relative = std::make_unique<Guarded<float>>(static_cast<size_t>(2 * radius + 1));
    random.fill(*relative, -2, 2);
    options.relative_bias = relative->data();
    options.relative_radius = radius;
  }

  size_t queries, q_stride, k_stride, v_stride;
  Guarded<float> q, k, v;
  std::unique_ptr<Guarded<uint8_t>> mask;
  std::unique_ptr<Guarded<float>> bias, relative;
  AttentionArgs options;  // outputs and scratch are set by run()
};

struct Output {
  std::vector<float> out, lse, weights, scores;
};

// `splits` are the row numbers between calls; extras: lse, weights and scores are asked for too.
inline Output run(const Problem& problem, const std::vector<size_t>& splits = {}, bool extras = true, size_t gap = 0) {
  const KernelTable& table = test::table();
  const size_t queries = problem.queries, keys = problem.options.keys, value_dim = problem.options.value_dim;
  Guarded<float> packed = scratch(attention_pack_floats(table, keys, problem.options.head_dim, value_dim));
  table.attention_pack({.k = problem.k.data(),
                        .k_stride = problem.k_stride,
                        .v = problem.v.data(),
                        .v_stride = problem.v_stride,
                        .keys = keys,
                        .head_dim = problem.options.head_dim,
                        .value_dim = value_dim,
                        .scratch = packed.data()});
  Guarded<float> rows = scratch(attention_row_floats(table, keys, value_dim));
  const size_t out_stride = value_dim + gap, key_stride = keys + gap;
  Guarded<float> out(extent(queries, value_dim, out_stride)), lse(extent(queries, 1, gap + 1));
  Guarded<float> weights(extent(queries, keys, key_stride)), scores(extent(queries, keys, key_stride));
  AttentionArgs args = problem.options;
  args.out = out.data();
  args.out_stride = out_stride;
  args.scratch = packed.data();
  args.row_scratch = rows.data();
  if (extras) {
    args.lse = lse.data();
    args.lse_stride = gap + 1;
    args.weights = weights.data();
    args.scores = scores.data();
    args.weights_stride = args.scores_stride = key_stride;
  }
  size_t begin = 0;
  for (size_t s = 0; s <= splits.size(); ++s) {
    args.row_begin = begin;
    args.row_end = begin = s < splits.size() ? splits[s] : queries;
    table.attention(args);
  }
  // Rows without their gaps; a gap must still hold what Guarded put there.
  const auto tight = [&](const Guarded<float>& x, size_t width, size_t stride) {
    std::vector<float> y;
    for (size_t i = 0; i < x.size(); ++i) {
      if (i % stride < width) {
        y.push_back(x[i]);
      } else {
        uint32_t bits;
        std::memcpy(&bits, &x[i], 4);
        EXPECT_EQ(bits, 0xffffffffu) << "written between rows at " << i;
      }
    }
    return y;
  };
  Output output;
  output.out = tight(out, value_dim, out_stride);
  if (!extras) return output;
  output.lse = tight(lse, 1, gap + 1);
  output.weights = tight(weights, keys, key_stride);
  output.scores = tight(scores, keys, key_stride);
  return output;
}

inline testing::AssertionResult same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return testing::AssertionFailure() << a.size() << " and " << b.size() << " elements";
  for (size_t i = 0; i < a.size(); ++i) {
    if (!test::same_bits(a[i], b[i]) && !(std::isnan(a[i]) && std::isnan(b[i]))) {
      return testing::AssertionFailure() << "element " << i << ": " << a[i] << " and " << b[i];
    }
  }
  return testing::AssertionSuccess();
}

// Compares with the double reference. With S the largest |score| and A the largest sum |q||k| scale, an exponent is off by at
// most eps (head_dim A + 4 S + 8); so are, relatively, a weight and the sum, to which keys eps is added for summing in float.
inline void expect_right(const Problem& problem, const Output& got, const AttentionResult& want, uint32_t seed) {
  const AttentionArgs& a = problem.options;
  double largest_score = 1, largest_product = 0, largest_value = 0;
  for (size_t i = 0; i < problem.queries; ++i) {
    for (size_t j = 0; j < a.keys; ++j) {
      double product = 0;
      for (size_t c = 0; c < a.head_dim; ++c)
        product += std::fabs(double{problem.q[i * problem.q_stride + c]} * problem.k[j * problem.k_stride + c]);
      if (std::isfinite(product)) largest_product = std::max(largest_product, product);
      double s = double{a.scale} * product +
                 std::fabs(double{a.alibi_slope} * static_cast<double>(static_cast<int64_t>(i + 1) - static_cast<int64_t>(j)));
      if (a.bias != nullptr || a.relative_bias != nullptr) s += 5;
      if (std::isfinite(s)) largest_score = std::max(largest_score, s);
    }
  }
  for (size_t j = 0; j < a.keys; ++j) {
    for (size_t c = 0; c < a.value_dim; ++c) {
      const double x = std::fabs(problem.v[j * problem.v_stride + c]);
      if (std::isfinite(x)) largest_value = std::max(largest_value, x);
    }
  }
  const double head_dim = static_cast<double>(a.head_dim), keys = static_cast<double>(a.keys);
  const double exponent = kEps * (head_dim * largest_product * a.scale + 4 * largest_score + 8);
  const double bound = 2 * exponent + (std::sqrt(keys) + 4) * kEps;
  Comparison out("out", seed), lse("lse", seed), weights("weights", seed), scores("scores", seed);
  for (size_t i = 0; i < problem.queries; ++i) {
    for (size_t c = 0; c < a.value_dim; ++c) {
      out.add(i, c, got.out[i * a.value_dim + c], want.out[i * a.value_dim + c], bound * largest_value);
    }
    lse.add(i, 0, got.lse[i], want.lse[i], bound + kEps * std::fabs(want.lse[i]));
    for (size_t j = 0; j < a.keys; ++j) {
      const size_t at = i * a.keys + j;
      weights.add(i, j, got.weights[at], want.weights[at], want.weights[at] == 0 ? 0 : bound * want.weights[at] + 1e-37);
      scores.add(i, j, got.scores[at], want.scores[at], kEps * std::sqrt(head_dim) * largest_product);
    }
  }
  EXPECT_TRUE(out.result());
  EXPECT_TRUE(lse.result());
  EXPECT_TRUE(weights.result());
  EXPECT_TRUE(scores.result());
}

// Right, the same bits without the extra outputs, and however the rows are split.
inline void check(const Problem& problem, Random& random, size_t gap = 0) {
  const Output whole = run(problem, {}, true, gap);
  expect_right(problem, whole, problem.want(), random.seed());
  EXPECT_TRUE(same_bits(whole.out, run(problem, {}, false, gap).out)) << "without extra outputs, seed " << random.seed();
  std::vector<size_t> splits;
  for (size_t at = 0;;) {
    at += static_cast<size_t>(random.integer(1, 9));
    if (at >= problem.queries) break;
    splits.push_back(at);
  }
  const Output split = run(problem, splits);
  EXPECT_TRUE(same_bits(whole.out, split.out)) << "rows split, seed " << random.seed();
  EXPECT_TRUE(same_bits(whole.lse, split.lse)) << "rows split, seed " << random.seed();
  EXPECT_TRUE(same_bits(whole.weights, split.weights)) << "rows split, seed " << random.seed();
}

}  // namespace saccade::kernels
