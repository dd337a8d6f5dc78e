#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "tests/reference/matmul.h"
#include "tests/support/buffer.h"
#include "tests/support/compare.h"
#include "tests/support/isa.h"
#include "tests/support/random.h"

namespace saccade::kernels {
namespace {

using test::Guarded;
using test::same_bits;
using test::table;

bool has_fma() { return table().isa != Isa::kSse2; }

struct Shape {
  size_t rows, k, n;
  bool bias = true, residual = false, out_in = false;
  size_t pad = 0;  // elements between rows of a, residual and c
  Unary activation = Unary::kIdentity;
};

// All operands of one call in buffers that end where the last element does; what lies between rows is NaN.
class Problem {
 public:
  explicit Problem(Shape shape, uint32_t seed = 1)
      : s(shape),
        a(extent(s.rows, s.k)),
        w(s.k * s.n),
        bias(s.n),
        residual(extent(s.rows, s.n)),
        panels(round_up(panel_floats(), 16)) {
    test::Random random(seed);
    random.fill(w), random.fill(bias);
    for (size_t r = 0; r < s.rows; ++r) {
      for (size_t i = 0; i < s.k; ++i) a[r * (s.k + s.pad) + i] = random.uniform();
      for (size_t j = 0; j < s.n; ++j) residual[r * (s.n + s.pad) + j] = random.uniform();
    }
    table().pack_weight(pack_args());
  }
  size_t panel_count() const { return (s.n + table().nr - 1) / table().nr; }
  test::WeightView weight() const { return s.out_in ? test::WeightView{w.data(), 1, s.k} : test::WeightView{w.data(), s.n, 1}; }
  PackWeightArgs pack_args() {
    const test::WeightView view = weight();
    return {.w = w.data(),
            .in = s.k,
            .out = s.n,
            .in_stride = view.in_stride,
            .out_stride = view.out_stride,
            .panels = panels.data(),
            .panel_begin = 0,
            .panel_end = panel_count()};
  }
  // Everything but c.
  MatmulArgs args() const {
    MatmulArgs m;
    m.a = a.data(), m.a_stride = s.k + s.pad;
    m.panels = panels.data();
    m.rows = s.rows, m.k = s.k, m.n = s.n;
    m.panel_begin = 0, m.panel_end = panel_count();
    if (s.bias) m.bias = bias.data();
    m.activation = s.activation;
    if (s.residual) m.residual = residual.data(), m.residual_stride = s.n + s.pad;
    m.c_stride = s.n + s.pad;
    return m;
  }
  Guarded<float> run() const {
    Guarded<float> c(extent(s.rows, s.n));
    MatmulArgs m = args();
    m.c = c.data();
    table().matmul(m);
    return c;
  }
  size_t extent(size_t rows, size_t width) const { return rows == 0 ? 0 : (rows - 1) * (width + s.pad) + width; }
  size_t panel_floats() const { return pack_weight_floats(table(), s.k, s.n); }

  Shape s;
  Guarded<float> a, w, bias, residual, panels;
};

// Every element: within the bound of the double reference, and (identity and relu) with the very bits that the stated order of
// summation gives. Nothing between rows is written.
testing::AssertionResult matches(const Problem& p, const Guarded<float>& c, uint32_t seed = 1) {
  const MatmulArgs m = p.args();
  const std::string what = std::to_string(p.s.rows) + "x" + std::to_string(p.s.k) + "x" + std::to_string(p.s.n);
  test::Comparison comparison("matmul " + what, seed);
  const bool exact = m.activation == Unary::kIdentity || m.activation == Unary::kRelu;
  for (size_t r = 0; r < p.s.rows; ++r) {
    for (size_t j = 0; j < p.s.n; ++j) {
      const test::MatmulResult want = test::reference_matmul(m, p.weight(), r, j, has_fma());
      const float got = c[r * m.c_stride + j];
      // Slopes of the activations are at most 1.13 (exp2 of small sums: 2); one rounding each for bias, activation and residual.
      const double bound = 2 * test::kEps * (std::sqrt(static_cast<double>(p.s.k)) * want.magnitude + 4 + std::fabs(want.value));
      comparison.add(r, j, got, want.value, exact ? bound / 2 : 4 * bound);
      if (!exact) continue;
      float bits = m.activation == Unary::kRelu ? std::max(want.sum, 0.0f) : want.sum;
      if (m.residual != nullptr) bits += m.residual[r * m.residual_stride + j];
      if (!same_bits(got, bits) && got != bits) {
        return testing::AssertionFailure() << what << " [" << r << "][" << j << "]: got " << got << ", the order of sums gives "
                                           << bits;
      }
    }
    if (r + 1 == p.s.rows) break;
    for (size_t j = p.s.n; j < m.c_stride; ++j) {
      if (!std::isnan(c[r * m.c_stride + j]))
        return testing::AssertionFailure() << what << ": row " << r << " wrote column " << j;
    }
  }
  return comparison.result();
}

// Around register tiles, vectors and several panels side by side.
std::vector<size_t> row_counts() {
  std::vector<size_t> rows;
  for (size_t r = 0; r <= table().mr + 1; ++r) rows.push_back(r);
  rows.push_back(2 * table().mr - 1);
  rows.push_back(2 * table().mr + 1);
  return rows;
}
std::vector<size_t> column_counts() {
  const size_t v = table().vector, nr = table().nr;
  return {1, v - 1, v, v + 1, nr - 1, nr, nr + 1, 2 * nr, 3 * nr + v + 1, 6 * nr, 13 * nr + 1};
}

TEST(PackWeight, PlacesBothLayoutsAndPadsWithZeros) {
  for (const bool out_in : {false, true}) {
    for (const size_t n : column_counts()) {
      Problem p({.rows = 0, .k = 5, .n = n, .out_in = out_in});
      const size_t nr = table().nr;
      ASSERT_EQ(p.panel_floats(), p.panel_count() * 5 * nr);
      for (size_t panel = 0; panel < p.panel_count(); ++panel) {
        for (size_t i = 0; i < 5; ++i) {
          for (size_t j = 0; j < nr; ++j) {
            const float want = panel * nr + j < n ? p.weight()(i, panel * nr + j) : 0.0f;
            ASSERT_TRUE(same_bits(p.panels[(panel * 5 + i) * nr + j], want)) << n << " " << panel << " " << i << " " << j;
          }
        }
      }
    }
  }
}

TEST(PackWeight, WritesItsPanelsOnly) {
  Problem p({.rows = 0, .k = 3, .n = 4 * table().nr});
  Guarded<float> some(round_up(p.panel_floats(), 16));
  PackWeightArgs pack = p.pack_args();
  pack.panels = some.data(), pack.panel_begin = 1, pack.panel_end = 3;
  table().pack_weight(pack);
  const size_t panel = 3 * table().nr;
  for (size_t i = 0; i < p.panel_floats(); ++i) {
    if (i < panel || i >= 3 * panel) {
      ASSERT_TRUE(std::isnan(some[i])) << i;
    } else {
      ASSERT_TRUE(same_bits(some[i], p.panels[i])) << i;
    }
  }
}

TEST(Matmul, EveryTileAndTail) {
  uint32_t seed = 1;
  for (const size_t rows : row_counts()) {
    for (const size_t n : column_counts()) {
      const bool odd = seed % 2 != 0;
      Problem p(
          {.rows = rows, .k = 1 + seed % 9, .n = n, .bias = odd, .residual = seed % 3 == 0, .out_in = odd, .pad = odd ? 3u : 0u},
          seed);
      ASSERT_TRUE(matches(p, p.run(), seed));
      ++seed;
    }
  }
}

TEST(Matmul, EveryDepth) {
  for (const size_t k : {0, 1, 2, 3, 7, 64, 255, 256, 257, 258, 259, 384, 511, 1023, 1024, 1025, 1536, 3072, 3073}) {
    for (const size_t rows : {size_t{1}, table().mr + 1}) {
      Problem p({.rows = rows, .k = k, .n = table().nr + 3, .residual = true, .pad = 1});
      ASSERT_TRUE(matches(p, p.run()));
    }
  }
}

// A square weight that is not symmetric, in both layouts: the two must not be mixed up.
TEST(Matmul, BothLayoutsOfASquareWeight) {
  const size_t n = 2 * table().nr + 1;
  for (const bool out_in : {false, true}) {
    Problem p({.rows = 5, .k = n, .n = n, .bias = false, .out_in = out_in});
    ASSERT_TRUE(matches(p, p.run()));
  }
}

TEST(Matmul, EveryActivation) {
  for (const Unary f : {Unary::kRelu, Unary::kGeluErf, Unary::kGeluTanh, Unary::kSilu, Unary::kTanh, Unary::kSigmoid, Unary::kErf,
                        Unary::kExp2}) {
    for (const size_t n : {2 * table().nr, table().nr + 1}) {
      for (const size_t k : {9, 300, 1030}) {  // in one chain, in two, and through partial sums in c
        Problem p({.rows = table().mr + 2, .k = k, .n = n, .residual = n % 2 == 0, .pad = 2, .activation = f});
        if (k > 256) std::for_each(p.a.begin(), p.a.end(), [](float& x) { x *= 0.1f; });  // sums of size 1 again
        ASSERT_TRUE(matches(p, p.run())) << "activation " << static_cast<int>(f);
      }
    }
  }
}

// Heads in matrices of their own: the same bits as plain rows, elsewhere.
TEST(Matmul, BlocksOfColumns) {
  const size_t vector = table().vector;
  for (const size_t block : {vector, 3 * vector, 4 * vector}) {
    for (const size_t k : {13, 1100}) {
      for (const Unary f : {Unary::kIdentity, Unary::kRelu}) {
        const size_t blocks = 5, rows = table().mr + 3, row = block + 1;
        Problem p({.rows = rows, .k = k, .n = block * blocks, .residual = true, .activation = f});
        const Guarded<float> plain = p.run();
        const size_t block_stride = rows * row + 5;
        Guarded<float> c((blocks - 1) * block_stride + (rows - 1) * row + block);
        MatmulArgs m = p.args();
        m.c = c.data(), m.c_stride = row, m.c_block = block, m.c_block_stride = block_stride;
        table().matmul(m);
        std::vector<bool> written(c.size());
        for (size_t r = 0; r < rows; ++r) {
          for (size_t j = 0; j < p.s.n; ++j) {
            const size_t at = j / block * block_stride + r * row + j % block;
            written[at] = true;
            ASSERT_TRUE(same_bits(c[at], plain[r * p.s.n + j])) << block << " " << r << " " << j;
          }
        }
        for (size_t i = 0; i < c.size(); ++i) ASSERT_TRUE(written[i] || std::isnan(c[i])) << block << " wrote " << i;
      }
    }
  }
}

TEST(Matmul, ResidualInPlace) {
  for (const Unary f : {Unary::kIdentity, Unary::kRelu}) {
    Problem p({.rows = 2 * table().mr + 1, .k = 40, .n = 2 * table().nr + 1, .residual = true, .pad = 3, .activation = f});
    const Guarded<float> apart = p.run();
    MatmulArgs m = p.args();
    m.c = p.residual.data();
    table().matmul(m);
    for (size_t i = 0; i < apart.size(); ++i) ASSERT_TRUE(same_bits(p.residual[i], apart[i])) << i;
  }
}

// Rows, panel ranges and cache size in any split: the same bits.
TEST(Matmul, SplitsKeepBits) {
  test::Random random(7);
  for (const size_t k : {50, 1030}) {
    for (const Unary f : {Unary::kIdentity, Unary::kRelu}) {
      Problem p({.rows = 4 * table().mr + 1, .k = k, .n = 9 * table().nr + 5, .residual = true, .pad = 1, .activation = f});
      const Guarded<float> whole = p.run();
      for (int repeat = 0; repeat < 6; ++repeat) {
        Guarded<float> c(whole.size());
        for (size_t row = 0; row < p.s.rows;) {
          const size_t rows = std::min<size_t>(p.s.rows - row, random.integer(1, 2 * table().mr));
          for (size_t panel = 0; panel < p.panel_count();) {
            const size_t panels = std::min<size_t>(p.panel_count() - panel, random.integer(1, 8));
            MatmulArgs m = p.args();
            m.a += row * m.a_stride, m.residual += row * m.residual_stride, m.rows = rows;
            m.c = c.data() + row * m.c_stride;
            m.panel_begin = panel, m.panel_end = panel + panels;
            m.cache_bytes = size_t{1} << random.integer(0, 24);
            table().matmul(m);
            panel += panels;
          }
          row += rows;
        }
        for (size_t i = 0; i < c.size(); ++i) ASSERT_TRUE(same_bits(c[i], whole[i])) << "k " << k << " element " << i;
      }
    }
  }
}

// (A B) t == A (B t), within what both sides may round.
TEST(Matmul, IsAssociativeWithAVector) {
  const size_t rows = 2 * table().mr + 1, k = 70, n = 3 * table().nr + 2;
  Problem p({.rows = rows, .k = k, .n = n, .bias = false});
  const Guarded<float> c = p.run();
  test::Random random(3);
  std::vector<double> t(n), b_t(k);
  for (double& x : t) x = random.uniform();
  for (size_t i = 0; i < k; ++i) {
    for (size_t j = 0; j < n; ++j) b_t[i] += p.weight()(i, j) * t[j];
  }
  test::Comparison comparison("C t", 3);
  for (size_t r = 0; r < rows; ++r) {
    double left = 0, right = 0, magnitude = 0;
    for (size_t j = 0; j < n; ++j) left += c[r * n + j] * t[j];
    for (size_t i = 0; i < k; ++i) {
      right += p.a[r * k + i] * b_t[i];
      for (size_t j = 0; j < n; ++j) magnitude += std::fabs(p.a[r * k + i] * p.weight()(i, j) * t[j]);
    }
    comparison.add(r, 0, left, right, std::sqrt(static_cast<double>(k)) * test::kEps * magnitude);
  }
  EXPECT_TRUE(comparison.result());
}

TEST(Matmul, NotANumberStaysInItsRowAndColumn) {
  Problem p({.rows = table().mr + 2, .k = 20, .n = 2 * table().nr + 3});
  const Guarded<float> before = p.run();
  p.a[1 * p.s.k + 7] = NAN;
  p.panels[(1 * p.s.k + 3) * table().nr + 2] = INFINITY;  // column nr + 2
  const Guarded<float> after = p.run();
  for (size_t r = 0; r < p.s.rows; ++r) {
    for (size_t j = 0; j < p.s.n; ++j) {
      const float x = after[r * p.s.n + j];
      if (r == 1) {
        EXPECT_TRUE(std::isnan(x)) << j;
      } else if (j == table().nr + 2) {
        EXPECT_TRUE(std::isinf(x)) << r;
      } else {
        EXPECT_TRUE(same_bits(x, before[r * p.s.n + j])) << r << " " << j;
      }
    }
  }
}

TEST(Matmul, NoRowsOrNoPanelsWriteNothing) {
  Problem p({.rows = 2, .k = 4, .n = 5});
  Guarded<float> c(10);
  MatmulArgs m = p.args();
  m.c = c.data(), m.panel_end = 0;
  table().matmul(m);
  m.rows = 0, m.panel_end = p.panel_count();
  table().matmul(m);
  for (const float x : c) EXPECT_TRUE(std::isnan(x));
}

// The shapes of real encoders, at full width.
TEST(Matmul, FullEncoderShapes) {
  for (const auto& [k, n] : {std::pair<size_t, size_t>{384, 1152}, {1536, 384}, {768, 768}, {3072, 768}}) {
    for (const size_t rows : {3, 61}) {
      Problem p({.rows = rows, .k = k, .n = n, .residual = true});
      ASSERT_TRUE(matches(p, p.run()));
    }
  }
}

}  // namespace
}  // namespace saccade::kernels
