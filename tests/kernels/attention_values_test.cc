// Attention on values that must not leak, must propagate or must not overflow: NaN, Inf, masked keys, -FLT_MAX, large scores;
// each in both regimes.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/kernels/attention_problem.h"

namespace saccade::kernels {
namespace {

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

}  // namespace
}  // namespace saccade::kernels
