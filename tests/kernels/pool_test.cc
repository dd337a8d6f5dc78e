#include "tests/reference/pool.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/isa.h"
#include "tests/support/matrix.h"

namespace saccade::kernels {
namespace {

using test::kEps;
using test::Matrix;
using test::Random;

constexpr Pool kKinds[] = {Pool::kMean, Pool::kFirst, Pool::kLast, Pool::kMax};

TEST(Pooling, MatchesTheReference) {
  Random random(14);
  const int64_t offsets[] = {0, 0, 1, 4, 4, 30};  // sequences of 0, 1, 3, 0 and 26 rows
  for (size_t width : test::test_widths()) {
    for (Pool kind : kKinds) {
      Matrix x(30, width, width + 1, random), y(5, width, width + 2);
      const PoolArgs args{.x = x.data(),
                          .x_stride = x.stride(),
                          .offsets = offsets,
                          .sequences = 5,
                          .width = width,
                          .kind = kind,
                          .y = y.data(),
                          .y_stride = y.stride()};
      test::table().pool(args);
      const std::vector<double> want = reference::pool(args);
      test::Comparison comparison("pool of width " + std::to_string(width), random.seed());
      for (size_t i = 0; i < want.size(); ++i) {
        // The mean: one rounding of at most length / 2 ulp for each of length rows, divided by length; everything else is a copy.
        const double length = static_cast<double>(offsets[i / width + 1] - offsets[i / width]);
        comparison.add(i / width, i % width, static_cast<double>(y.at(i / width, i % width)), want[i],
                       kind == Pool::kMean ? kEps * length / 2 : 0);
      }
      EXPECT_TRUE(comparison.result());
      EXPECT_TRUE(y.gaps_untouched());
    }
  }
}

TEST(Pooling, WorkedExample) {
  const float x[] = {1, 2, 3, 4, 100, 100};
  const int64_t offsets[] = {0, 2};  // the third row is not live
  const float want[][2] = {{2, 3}, {1, 2}, {3, 4}, {3, 4}};
  for (Pool kind : kKinds) {
    float y[2];
    test::table().pool(
        {.x = x, .x_stride = 2, .offsets = offsets, .sequences = 1, .width = 2, .kind = kind, .y = y, .y_stride = 2});
    EXPECT_EQ(y[0], want[static_cast<size_t>(kind)][0]);
    EXPECT_EQ(y[1], want[static_cast<size_t>(kind)][1]);
  }
}

TEST(Pooling, MaximumKeepsNan) {
  const int64_t offsets[] = {0, 3};
  for (size_t row = 0; row < 3; ++row) {
    Matrix x(3, 21, 21), y(1, 21, 21);
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 21; ++j) x.at(i, j) = i == row && j == 4 ? NAN : static_cast<float>(i);
    }
    test::table().pool({.x = x.data(),
                        .x_stride = 21,
                        .offsets = offsets,
                        .sequences = 1,
                        .width = 21,
                        .kind = Pool::kMax,
                        .y = y.data(),
                        .y_stride = 21});
    for (size_t j = 0; j < 21; ++j) EXPECT_TRUE(j == 4 ? std::isnan(y.at(0, j)) : y.at(0, j) == 2.0f);
  }
}

}  // namespace
}  // namespace saccade::kernels
