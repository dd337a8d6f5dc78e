#include "tests/reference/norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/isa.h"
#include "tests/support/matrix.h"

namespace saccade::kernels {
namespace {

using test::kEps;
using test::Matrix;
using test::Random;

constexpr size_t kNormRows = 3;

// Every combination of the optional arguments, in and out of place.
TEST(Norm, MatchesTheReference) {
  Random random(4);
  for (size_t width : test::test_widths()) {
    for (int flags = 0; flags < 32; ++flags) {
      const bool rms = flags & 1, with_residual = flags & 2, with_gain = flags & 4, with_bias = flags & 8, with_sum = flags & 16;
      Matrix x(kNormRows, width, width + 1, random, -2, 3), residual(kNormRows, width, width + 2, random),
          sum(kNormRows, width, width + 3);
      Matrix gain(1, width, width + 1, random), bias(1, width, width + 1, random), y(kNormRows, width, width + 4);
      NormArgs args{.x = x.data(),
                    .x_stride = x.stride(),
                    .rows = kNormRows,
                    .width = width,
                    .rms = rms,
                    .y = y.data(),
                    .y_stride = y.stride()};
      if (with_residual) args.residual = residual.data(), args.residual_stride = residual.stride();
      if (with_gain) args.gain = gain.data();
      if (with_bias) args.bias = bias.data();
      if (with_sum) args.sum = sum.data(), args.sum_stride = sum.stride();
      const std::vector<double> want = reference::norm(args);
      test::table().norm(args);
      test::Comparison comparison("norm of width " + std::to_string(width) + ", flags " + std::to_string(flags), random.seed());
      for (size_t r = 0; r < kNormRows; ++r) {
        for (size_t j = 0; j < width; ++j) {
          // |normalised| <= sqrt(width) in a row whose deviation is about 1.5 (eps adds nothing): mean and deviation are good to
          // a few eps of the row's largest number, 4.
          const double got = static_cast<double>(y.at(r, j)), w = want[r * width + j];
          const double bound = kEps * (16 + 8 * std::fabs(w)) * (width < 4 ? 256 : 1);  // rows of 2 or 3 may be nearly constant
          comparison.add(r, j, got, w, bound);
          if (with_sum) {
            EXPECT_EQ(sum.at(r, j), x.at(r, j) + (with_residual ? residual.at(r, j) : 0.0f));
          }
        }
      }
      EXPECT_TRUE(comparison.result());
      EXPECT_TRUE(y.gaps_untouched() && sum.gaps_untouched());

      // sum over x, y over residual: the same bits.
      const std::vector<float> y_before = y.values();
      args.sum = with_sum ? x.data() : nullptr, args.sum_stride = x.stride();
      Matrix& target = with_residual ? residual : x;
      if (!with_sum || with_residual) args.y = target.data(), args.y_stride = target.stride();
      test::table().norm(args);
      EXPECT_TRUE(test::same_bits(y_before, (args.y == y.data() ? y : target).values())) << "in place, flags " << flags;
    }
  }
}

TEST(Norm, ConstantRowsGiveTheBias) {
  for (size_t width : {1, 3, 17, 384}) {
    Matrix x(1, width, width), gain(1, width, width), bias(1, width, width), y(1, width, width);
    for (size_t j = 0; j < width; ++j) x.at(0, j) = 2.5f, gain.at(0, j) = 3.0f, bias.at(0, j) = static_cast<float>(j);
    test::table().norm({.x = x.data(),
                        .x_stride = width,
                        .rows = 1,
                        .width = width,
                        .gain = gain.data(),
                        .bias = bias.data(),
                        .y = y.data(),
                        .y_stride = width});
    for (size_t j = 0; j < width; ++j) EXPECT_EQ(y.at(0, j), static_cast<float>(j));
  }
}

TEST(Norm, RowsDoNotDependOnEachOther) {
  Random random(5);
  for (bool rms : {false, true}) {
    Matrix x(7, 77, 80, random), all(7, 77, 77), one(7, 77, 77);
    test::table().norm({.x = x.data(), .x_stride = 80, .rows = 7, .width = 77, .rms = rms, .y = all.data(), .y_stride = 77});
    for (size_t r = 0; r < 7; ++r) {
      test::table().norm(
          {.x = x.data() + r * 80, .x_stride = 80, .rows = 1, .width = 77, .rms = rms, .y = one.data() + r * 77, .y_stride = 77});
    }
    EXPECT_TRUE(test::same_bits(all.values(), one.values()));
  }
}

TEST(Norm, NanStaysInItsRow) {
  Random random(6);
  Matrix x(3, 40, 40, random), y(3, 40, 40);
  x.at(1, 11) = NAN;
  test::table().norm({.x = x.data(), .x_stride = 40, .rows = 3, .width = 40, .y = y.data(), .y_stride = 40});
  for (size_t j = 0; j < 40; ++j) {
    EXPECT_FALSE(std::isnan(y.at(0, j)));
    EXPECT_TRUE(std::isnan(y.at(1, j)));
    EXPECT_FALSE(std::isnan(y.at(2, j)));
  }
}

TEST(L2Normalize, MatchesTheReference) {
  Random random(7);
  for (size_t width : test::test_widths()) {
    for (float size : {1.0f, 1e-3f, 1e-15f, 1e-25f, 1e15f, 1e30f}) {
      for (float eps : {1e-12f, 1e-30f}) {
        Matrix x(kNormRows, width, width + 1, random, -size, size), y(kNormRows, width, width + 5);
        const L2NormalizeArgs args{.x = x.data(),
                                   .x_stride = x.stride(),
                                   .rows = kNormRows,
                                   .width = width,
                                   .eps = eps,
                                   .y = y.data(),
                                   .y_stride = y.stride()};
        test::table().l2_normalize(args);
        const std::vector<double> want = reference::l2_normalize(args);
        test::Comparison comparison("l2_normalize of width " + std::to_string(width) + ", size " + std::to_string(size),
                                    random.seed());
        for (size_t r = 0; r < kNormRows; ++r) {
          for (size_t j = 0; j < width; ++j) {
            const double w = want[r * width + j];
            // Sum of squares in chains of at most width / 16 + 8, root and division.
            comparison.add(r, j, static_cast<double>(y.at(r, j)), w,
                           kEps * std::fabs(w) * (4 + std::sqrt(static_cast<double>(width))) + 0x1p-126);
          }
        }
        EXPECT_TRUE(comparison.result());
        EXPECT_TRUE(y.gaps_untouched());
        const std::vector<float> before = y.values();
        test::table().l2_normalize({.x = x.data(),
                                    .x_stride = x.stride(),
                                    .rows = kNormRows,
                                    .width = width,
                                    .eps = eps,
                                    .y = x.data(),
                                    .y_stride = x.stride()});
        EXPECT_TRUE(test::same_bits(before, x.values())) << "in place";
      }
    }
  }
}

TEST(L2Normalize, ZerosAndNan) {
  Matrix x(2, 19, 19), y(2, 19, 19);
  for (size_t j = 0; j < 19; ++j) x.at(0, j) = 0, x.at(1, j) = j == 18 ? NAN : 1.0f;
  test::table().l2_normalize({.x = x.data(), .x_stride = 19, .rows = 2, .width = 19, .y = y.data(), .y_stride = 19});
  for (size_t j = 0; j < 19; ++j) {
    EXPECT_EQ(y.at(0, j), 0.0f);
    EXPECT_TRUE(std::isnan(y.at(1, j)));
  }
}

}  // namespace
}  // namespace saccade::kernels
