#include "tests/reference/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "tests/support/buffer.h"
#include "tests/support/cases.h"
#include "tests/support/compare.h"
#include "tests/support/isa.h"
#include "tests/support/random.h"

namespace saccade::kernels {
namespace {

using reference::AttentionResult;
using test::Comparison;
using test::Guarded;
using test::kEps;
using test::Random;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Floats at a guard page whose first one is at a cache line.
Guarded<float> scratch(size_t floats) { return Guarded<float>(round_up(floats, 16)); }

size_t extent(size_t rows, size_t width, size_t stride) { return rows == 0 ? 0 : (rows - 1) * stride + width; }

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
Output run(const Problem& problem, const std::vector<size_t>& splits = {}, bool extras = true, size_t gap = 0) {
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

testing::AssertionResult same_bits(const std::vector<float>& a, const std::vector<float>& b) {
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
void expect_right(const Problem& problem, const Output& got, const AttentionResult& want, uint32_t seed) {
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
void check(const Problem& problem, Random& random, size_t gap = 0) {
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

TEST(Attention, AllCasesOfTheFile) {
  const std::vector<test::AttentionCase> cases = test::load_attention_cases();
  EXPECT_EQ(cases.size(), 74u);
  for (const test::AttentionCase& c : cases) {
    SCOPED_TRACE(c.name);
    const size_t batch = c.q.shape[0], heads = c.q.shape[1], rows = c.q.shape[2], head_dim = c.q.shape[3];
    const size_t kv_heads = c.k.shape[1], keys = c.k.shape[2], value_dim = c.v.shape[3];
    const auto floats = [](const test::CaseTensor& t) { return std::vector<float>(t.values.begin(), t.values.end()); };
    const std::vector<float> q = floats(c.q), k = floats(c.k), v = floats(c.v);
    const std::vector<float> bias = c.bias ? floats(*c.bias) : std::vector<float>();
    const std::vector<uint8_t> mask =
        c.mask ? std::vector<uint8_t>(c.mask->values.begin(), c.mask->values.end()) : std::vector<uint8_t>();
    // Offset of (b, h) and strides of i and j in a tensor that broadcasts dimensions of size 1.
    struct Place {
      size_t offset, row, column;
    };
    const auto place = [](const std::vector<size_t>& shape, size_t b, size_t h) {
      if (shape.size() == 2) return Place{b * shape[1], 0, 1};
      const size_t column = shape[3] > 1 ? 1 : 0, row = shape[2] > 1 ? shape[3] : 0;
      return Place{((shape[0] > 1 ? b : 0) * shape[1] + (shape[1] > 1 ? h : 0)) * shape[2] * shape[3], row, column};
    };
    Comparison out(c.name + " output"), lse(c.name + " lse");
    const KernelTable& table = test::table();
    for (size_t b = 0; b < batch; ++b) {
      const size_t q_length = c.q_lengths ? static_cast<size_t>((*c.q_lengths)[b]) : rows;
      const size_t kv_length = c.kv_lengths ? static_cast<size_t>((*c.kv_lengths)[b]) : keys;
      for (size_t h = 0; h < heads; ++h) {
        const size_t kv_head = b * kv_heads + h / (heads / kv_heads), head = b * heads + h;
        Guarded<float> packed = scratch(attention_pack_floats(table, kv_length, head_dim, value_dim));
        Guarded<float> row_scratch = scratch(attention_row_floats(table, kv_length, value_dim));
        table.attention_pack({.k = k.data() + kv_head * keys * head_dim,
                              .k_stride = head_dim,
                              .v = v.data() + kv_head * keys * value_dim,
                              .v_stride = value_dim,
                              .keys = kv_length,
                              .head_dim = head_dim,
                              .value_dim = value_dim,
                              .scratch = packed.data()});
        Guarded<float> got(q_length * value_dim), got_lse(q_length);
        AttentionArgs args;
        args.q = q.data() + head * rows * head_dim;
        args.q_stride = head_dim;
        args.out = got.data();
        args.out_stride = value_dim;
        args.row_end = q_length;
        args.keys = kv_length;
        args.head_dim = head_dim;
        args.value_dim = value_dim;
        args.scale = static_cast<float>(c.scale ? *c.scale : 1 / std::sqrt(static_cast<double>(head_dim)));
        args.softcap = static_cast<float>(c.softcap.value_or(0));
        args.position = c.causal == "bottom_right" ? static_cast<int64_t>(kv_length) - static_cast<int64_t>(q_length) : 0;
        args.left = c.window_left.value_or(kUnlimited);
        args.right = c.window_right.value_or(kUnlimited);
        if (c.causal != "none") args.right = std::min<int64_t>(args.right, 0);
        if (c.alibi_slopes) args.alibi_slope = static_cast<float>((*c.alibi_slopes)[h]);
        if (c.bias) {
          const Place at = place(c.bias->shape, b, h);
          args.bias = bias.data() + at.offset;
          args.bias_row_stride = at.row;
          args.bias_column_stride = at.column;
        }
        if (c.mask) {
          const Place at = place(c.mask->shape, b, h);
          args.mask = mask.data() + at.offset;
          args.mask_row_stride = at.row;
          args.mask_column_stride = at.column;
        }
        args.lse = got_lse.data();
        args.scratch = packed.data();
        args.row_scratch = row_scratch.data();
        table.attention(args);
        for (size_t i = 0; i < q_length; ++i) {
          const size_t row = head * rows + i;
          lse.add(row, 0, got_lse[i], c.lse.values[row], 2e-5 * std::max(1.0, std::fabs(c.lse.values[row])));
          for (size_t j = 0; j < value_dim; ++j) {
            out.add(row, j, got[i * value_dim + j], c.output.values[row * value_dim + j], test::case_tolerance(c));
          }
        }
      }
    }
    EXPECT_TRUE(out.result());
    EXPECT_TRUE(lse.result());
  }
}

TEST(Attention, AnyHeadAndValueDimension) {
  Random random(1);
  const size_t dims[] = {1, 3, 20, 37, 63, 64, 80, 96, 160, 256};
  const size_t count = std::size(dims);
  for (size_t d = 0; d < count; ++d) {
    for (size_t other : {d, (d + 3) % count}) {
      SCOPED_TRACE(testing::Message() << dims[d] << " and " << dims[other]);
      const Problem problem(random, 7, 19, dims[d], dims[other], d % 3);
      check(problem, random, d % 2);
    }
  }
}

TEST(Attention, TileAndPanelEdges) {
  const KernelTable& table = test::table();
  Random random(2);
  for (size_t keys : {size_t{0}, size_t{1}, table.key_panel - 1, table.key_panel, table.key_panel + 1, 2 * table.key_panel + 1}) {
    for (size_t queries :
         {size_t{0}, size_t{1}, table.mr - 1, table.mr, table.mr + 1, 2 * table.mr + 1, 2 * table.query_tile + 1}) {
      SCOPED_TRACE(testing::Message() << queries << " queries, " << keys << " keys");
      check(Problem(random, queries, keys, 5, 7), random);
    }
  }
}

// Every option, alone and with others.
struct Option {
  const char* name;
  std::function<void(Problem&, Random&)> set;
};
std::vector<Option> all_options() {
  return {{"plain", [](Problem&, Random&) {}},
          {"scale 0", [](Problem& p, Random&) { p.options.scale = 0; }},
          {"scale 0, causal", [](Problem& p, Random&) { p.options.scale = 0, p.options.right = 0; }},
          {"softcap", [](Problem& p, Random&) { p.options.softcap = 0.7f; }},
          {"causal", [](Problem& p, Random&) { p.options.right = 0; }},
          {"causal from the end",
           [](Problem& p, Random&) {
             p.options.right = 0;
             p.options.position = static_cast<int64_t>(p.options.keys) - static_cast<int64_t>(p.queries);
           }},
          {"before all keys",
           [](Problem& p, Random&) { p.options.right = 0, p.options.position = -static_cast<int64_t>(p.queries / 2); }},
          {"behind all keys",
           [](Problem& p, Random&) { p.options.left = 3, p.options.position = static_cast<int64_t>(p.options.keys) - 5; }},
          {"window", [](Problem& p, Random&) { p.options.left = 5, p.options.right = 3; }},
          {"wide window", [](Problem& p, Random&) { p.options.left = 40, p.options.right = 33; }},
          {"no width", [](Problem& p, Random&) { p.options.left = 0, p.options.right = 0; }},
          {"alibi", [](Problem& p, Random&) { p.options.alibi_slope = 0.0625f, p.options.position = 2; }},
          {"relative bias", [](Problem& p, Random& r) { p.add_relative_bias(r, 11); }},
          {"narrow relative bias", [](Problem& p, Random& r) { p.add_relative_bias(r, 0); }},
          {"wide relative bias", [](Problem& p, Random& r) { p.add_relative_bias(r, 2000); }},
          {"key mask", [](Problem& p, Random& r) { p.add_mask(r, false, true, 0.7); }},
          {"pair mask", [](Problem& p, Random& r) { p.add_mask(r, true, true, 0.3); }},
          {"row mask", [](Problem& p, Random& r) { p.add_mask(r, true, false, 0.5); }},
          {"rare key mask", [](Problem& p, Random& r) { p.add_mask(r, true, true, 0.01); }},
          {"bias", [](Problem& p, Random& r) { p.add_bias(r, true, true, 0.2); }},
          {"key bias", [](Problem& p, Random& r) { p.add_bias(r, false, true, 0.2); }},
          {"row bias", [](Problem& p, Random& r) { p.add_bias(r, true, false, 0.2); }},
          {"transposed bias", [](Problem& p, Random& r) { p.add_transposed_bias(r); }},
          {"everything", [](Problem& p, Random& r) {
             p.options.softcap = 3;
             p.options.left = 30, p.options.right = 14, p.options.position = -1;
             p.options.alibi_slope = 0.01f;
             p.add_bias(r, true, true, 0.1);
             p.add_relative_bias(r, 7);
             p.add_mask(r, true, true, 0.8);
           }}};
}

TEST(Attention, EveryOptionOnWholeRows) {
  Random random(3);
  for (const Option& option : all_options()) {
    SCOPED_TRACE(option.name);
    Problem problem(random, 41, 67, 6, 5, 1);
    option.set(problem, random);
    check(problem, random, 1);
  }
}

TEST(Attention, EveryOptionOnline) {
  Random random(4);
  for (const Option& option : all_options()) {
    SCOPED_TRACE(option.name);
    Problem problem(random, 9, kFullRowKeys + 13, 4, 3, 1);
    option.set(problem, random);
    check(problem, random, 1);
  }
}

// Both regimes: 40 rows over more keys than one key tile holds.
class BothRegimes : public testing::TestWithParam<size_t> {
 protected:
  Problem problem(Random& random) const { return Problem(random, 40, GetParam(), 4, 3); }
};
INSTANTIATE_TEST_SUITE_P(Keys, BothRegimes, testing::Values(size_t{72}, kFullRowKeys + 20));

TEST_P(BothRegimes, WhatDroppedKeysHoldCannotLeak) {
  const size_t keys = GetParam();
  for (const float poison : {kNan, kInf, -kInf}) {
    for (const bool in_value : {true, false}) {
      const auto put = [&](Problem& p, size_t j) { in_value ? p.value(j, j % 3) = poison : p.key(j, j % 4) = poison; };
      const auto run_case = [&](const char* name, const std::function<void(Problem&, Random&)>& set) {
        SCOPED_TRACE(testing::Message() << name << ", " << poison << (in_value ? " in a value" : " in a key"));
        Random random(5);
        Problem p = problem(random);
        set(p, random);
        const AttentionResult want = p.want();
        const Output got = run(p);
        size_t clean = 0;
        for (double x : want.out) clean += std::isfinite(x);
        EXPECT_GT(clean, want.out.size() / 4);  // else the case shows nothing
        for (size_t i = 0; i < got.out.size(); ++i) {
          // Live infinities may give NaN or infinity; everything else is as in the reference.
          if (std::isfinite(want.out[i])) {
            EXPECT_NEAR(got.out[i], want.out[i], 2e-6) << "row " << i / 3;
          } else {
            EXPECT_FALSE(std::isfinite(got.out[i])) << "row " << i / 3;
          }
        }
        for (size_t i = 0; i < want.weights.size(); ++i) {
          if (want.weights[i] == 0) {
            EXPECT_EQ(got.weights[i], 0.0f);
          }
        }
        std::vector<size_t> splits = {1, 3, 14, 15, 33};
        EXPECT_TRUE(same_bits(got.out, run(p, splits, false).out));
      };
      run_case("causal future key", [&](Problem& p, Random&) {
        p.options.right = 0;
        for (size_t j : {size_t{20}, size_t{35}, keys - 1}) put(p, j);
      });
      run_case("causal future key from the end", [&](Problem& p, Random&) {
        p.options.right = 0;
        p.options.position = static_cast<int64_t>(keys) - 40;
        put(p, keys - 9);
      });
      run_case("outside the window of some rows of a tile", [&](Problem& p, Random&) {
        p.options.left = p.options.right = 4;
        put(p, 3), put(p, 22);
      });
      run_case("per-row mask", [&](Problem& p, Random& random) {
        p.add_mask(random, true, true, 0.6);
        for (size_t j : {size_t{0}, size_t{17}, size_t{18}, keys - 1}) {
          put(p, j);
          for (size_t i = 0; i < 40; i += i % 5 == 0 ? 1 : 2) (*p.mask)[i * keys + j] = 0;
        }
      });
      run_case("key mask", [&](Problem& p, Random& random) {
        p.add_mask(random, false, true, 0.6);
        for (size_t j : {size_t{0}, size_t{17}, keys - 1}) put(p, j), (*p.mask)[j] = 0;
      });
      run_case("-inf bias", [&](Problem& p, Random& random) {
        p.add_bias(random, true, true, 0.3);
        for (size_t j : {size_t{5}, size_t{16}, keys - 2}) {
          put(p, j);
          for (size_t i = 0; i < 40; ++i) {
            if (i % 7 != 3) (*p.bias)[i * keys + j] = -kInf;
          }
        }
      });
      run_case("mask and window", [&](Problem& p, Random& random) {
        p.add_mask(random, true, true, 0.9);
        p.options.left = 9, p.options.right = 2;
        for (size_t j : {size_t{4}, size_t{21}, size_t{30}}) {
          put(p, j);
          for (size_t i = 0; i < 40; i += 2) (*p.mask)[i * keys + j] = 0;
        }
      });
    }
  }
}

TEST_P(BothRegimes, LiveNanPropagates) {
  const size_t keys = GetParam();
  for (size_t key : {size_t{0}, size_t{37}, keys - 1}) {
    Random random(6);
    Problem p = problem(random);
    p.key(key, 2) = kNan;
    p.options.left = p.options.right = static_cast<int64_t>(keys) - 20;  // some rows do not see keys at the ends
    const AttentionResult want = p.want();
    const Output got = run(p);
    for (size_t i = 0; i < 40; ++i) {
      EXPECT_EQ(std::isnan(got.lse[i]), std::isnan(want.lse[i])) << "key " << key << ", row " << i;
      for (size_t c = 0; c < 3; ++c) EXPECT_EQ(std::isnan(got.out[i * 3 + c]), std::isnan(want.out[i * 3 + c])) << "row " << i;
    }
  }
  for (const bool masked : {false, true}) {
    Random random(7);
    Problem p = problem(random);
    p.q[11 * p.q_stride + 3] = kNan;
    p.value(20, 1) = kNan;
    if (masked) p.add_mask(random, false, true, 1.0);
    const Output got = run(p);
    for (size_t i = 0; i < 40; ++i) {
      EXPECT_EQ(std::isnan(got.lse[i]), i == 11);
      for (size_t c = 0; c < 3; ++c)
        EXPECT_EQ(std::isnan(got.out[i * 3 + c]), i == 11 || c == 1) << "row " << i << " column " << c;
    }
  }
}

TEST_P(BothRegimes, OneNanScoreIsNotAnEmptyRow) {
  Random random(8);
  Problem p = problem(random);
  p.options.left = p.options.right = 0;  // one key each
  p.key(7, 0) = kNan;
  const Output got = run(p);
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(std::isnan(got.lse[i]), i == 7);
    EXPECT_EQ(std::isnan(got.out[i * 3]), i == 7);
  }
}

TEST_P(BothRegimes, MaskedPrefixAndMiddleLongerThanATile) {
  const size_t keys = GetParam();
  Random random(9);
  Problem p = problem(random);
  p.add_mask(random, true, true, 1.0);
  for (size_t i = 0; i < 40; ++i) {
    // Row 0 keeps nothing; others lose the front, the middle or the end.
    for (size_t j = 0; j < keys; ++j) {
      const bool keep = i == 0 ? false : i % 3 == 0 ? j + 3 >= keys : i % 3 == 1 ? (j < 2 || j + 2 >= keys) : j < 3;
      (*p.mask)[i * keys + j] = keep;
    }
  }
  check(p, random);
  const Output got = run(p);
  EXPECT_EQ(got.out[0], 0.0f);
  EXPECT_EQ(got.lse[0], -kInf);
}

TEST_P(BothRegimes, MinusFltMaxIsFinite) {
  const size_t keys = GetParam();
  Random random(10);
  Problem p = problem(random);
  p.options.softcap = 0;
  p.add_bias(random, true, true, 0.0);
  for (size_t j = 0; j < keys; ++j) {
    (*p.bias)[j] = -std::numeric_limits<float>::max();                                    // row 0: all
    (*p.bias)[keys + j] = j == 3 ? 0 : -std::numeric_limits<float>::max();                // row 1: all but one
    (*p.bias)[2 * keys + j] = j < keys / 2 ? -kInf : -std::numeric_limits<float>::max();  // row 2: half of them, the others gone
  }
  const Output got = run(p);
  for (size_t c = 0; c < 3; ++c) {
    double mean = 0, half = 0;
    for (size_t j = 0; j < keys; ++j) {
      mean += p.value(j, c) / static_cast<double>(keys);
      if (j >= keys / 2) half += p.value(j, c) / static_cast<double>(keys - keys / 2);
    }
    EXPECT_NEAR(got.out[c], mean, 2e-6);
    EXPECT_EQ(got.out[3 + c], p.value(3, c));
    EXPECT_NEAR(got.out[6 + c], half, 2e-6);
  }
}

// scores of -1e4 to 1e4, rising and falling over key tiles.
TEST_P(BothRegimes, LargeScores) {
  const size_t keys = GetParam();
  for (const float slope : {1.0f, -1.0f, 50.0f, -50.0f}) {
    Random random(11);
    Problem p(random, 9, keys, 1, 2);
    p.options.scale = 1;
    for (size_t i = 0; i < 9; ++i) p.q[i] = static_cast<float>(i) - 4;
    for (size_t j = 0; j < keys; ++j) p.key(j, 0) = slope * static_cast<float>(j) / 4;
    const AttentionResult want = p.want();
    const Output got = run(p);
    for (size_t i = 0; i < got.out.size(); ++i) EXPECT_NEAR(got.out[i], want.out[i], 4e-6);
    for (size_t i = 0; i < 9; ++i) EXPECT_NEAR(got.lse[i], want.lse[i], 2 * kEps * std::max(1.0, std::fabs(want.lse[i])));
  }
}

TEST(Attention, RandomProblems) {
  for (uint32_t seed = 100; seed < 220; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const bool online = seed % 10 == 0;
    const size_t queries = static_cast<size_t>(random.integer(1, online ? 20 : 60));
    const size_t keys =
        static_cast<size_t>(online ? random.integer(kFullRowKeys + 1, kFullRowKeys + 600) : random.integer(1, 90));
    Problem p(random, queries, keys, static_cast<size_t>(random.integer(1, 9)), static_cast<size_t>(random.integer(1, 40)),
              static_cast<size_t>(random.integer(0, 3)));
    const auto coin = [&] { return random.integer(0, 3) == 0; };
    if (coin()) p.options.softcap = random.uniform(0.5f, 4);
    if (coin()) p.options.left = random.integer(0, 40);
    if (coin()) p.options.right = random.integer(0, 40);
    if (coin()) p.options.position = random.integer(-20, static_cast<int64_t>(keys));
    if (coin()) p.options.alibi_slope = random.uniform(0, 0.2f);
    if (coin()) p.add_relative_bias(random, random.integer(0, 30));
    if (coin()) p.add_bias(random, random.integer(0, 1) != 0, random.integer(0, 1) != 0, 0.2);
    if (coin()) p.add_mask(random, random.integer(0, 1) != 0, random.integer(0, 1) != 0, 0.7);
    check(p, random, static_cast<size_t>(random.integer(0, 2)));
  }
}

TEST(Attention, FullLongSequences) {
  Random random(12);
  for (const bool causal : {false, true}) {
    Problem p(random, 230, 2600, 16, 16);
    if (causal) p.options.right = 0, p.options.position = 2370;
    check(p, random);
  }
}

}  // namespace
}  // namespace saccade::kernels
