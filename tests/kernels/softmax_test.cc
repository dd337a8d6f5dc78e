#include "tests/reference/softmax.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/isa.h"
#include "tests/support/matrix.h"

namespace saccade::kernels {
namespace {

using test::kEps;
using test::Matrix;
using test::Random;

SoftmaxArgs args_of(Matrix& x, size_t rows, size_t width, float scale, Matrix& y) {
  return {
      .x = x.data(), .x_stride = x.stride(), .rows = rows, .width = width, .scale = scale, .y = y.data(), .y_stride = y.stride()};
}

TEST(Softmax, MatchesTheReference) {
  Random random(1);
  for (size_t width : test::test_widths()) {
    for (float scale : {0.0f, 0.125f, 1.0f, 9.0f}) {
      const size_t rows = 3, stride = width + 3;
      Matrix x(rows, width, stride, random, -4, 4), y(rows, width, stride + 1);
      SoftmaxArgs args = args_of(x, rows, width, scale, y);
      std::vector<int64_t> lengths;
      for (size_t r = 0; r < rows; ++r) lengths.push_back(random.integer(0, static_cast<int64_t>(width)));
      for (bool ragged : {false, true}) {
        args.lengths = ragged ? lengths.data() : nullptr;
        test::table().softmax(args);
        const std::vector<double> want = reference::softmax(args);
        test::Comparison comparison("softmax of width " + std::to_string(width), random.seed());
        for (size_t r = 0; r < rows; ++r) {
          for (size_t j = 0; j < width; ++j) {
            const double w = want[r * width + j];
            // Two roundings and the constant's in the argument, each eps / 2 of it (at most 8 scale); exp2, sum and division 8
            // eps.
            comparison.add(r, j, static_cast<double>(y.at(r, j)), w,
                           w * kEps * (8 + 2 * 8 * static_cast<double>(scale)) + 0x1p-126);
            if (ragged && j >= static_cast<size_t>(lengths[r])) {
            EXPECT_EQ(y.at(r, j), 0.0f);
          }
          }
        }
        EXPECT_TRUE(comparison.result());
        EXPECT_TRUE(y.gaps_untouched());
      }
    }
  }
}

TEST(Softmax, RowsSumToOneAndDoNotDependOnEachOther) {
  Random random(2);
  for (size_t width : test::test_widths()) {
    if (width == 0) continue;
    Matrix x(5, width, width + 2, random, -10, 10), all(5, width, width), one(5, width, width);
    test::table().softmax(args_of(x, 5, width, 1, all));
    for (size_t r = 0; r < 5; ++r) {
      SoftmaxArgs args = args_of(x, 1, width, 1, one);
      args.x += r * x.stride(), args.y += r * one.stride();
      test::table().softmax(args);
      double sum = 0;
      for (size_t j = 0; j < width; ++j) sum += static_cast<double>(all.at(r, j));
      EXPECT_NEAR(sum, 1, kEps * (2 + std::sqrt(static_cast<double>(width))));
    }
    EXPECT_TRUE(test::same_bits(all.values(), one.values()));
    test::table().softmax(args_of(x, 5, width, 1, x));  // in place
    EXPECT_TRUE(test::same_bits(all.values(), x.values()));
  }
}

// A row cut to its length has the bits of a row of that width.
TEST(Softmax, LengthsAreWidths) {
  Random random(3);
  Matrix x(1, 70, 70, random, -3, 3), cut(1, 70, 70), whole(1, 70, 70);
  for (int64_t length = 1; length <= 70; ++length) {
    SoftmaxArgs args = args_of(x, 1, 70, 0.5f, cut);
    args.lengths = &length;
    test::table().softmax(args);
    test::table().softmax(args_of(x, 1, static_cast<size_t>(length), 0.5f, whole));
    for (size_t j = 0; j < static_cast<size_t>(length); ++j) EXPECT_TRUE(test::same_bits(cut.at(0, j), whole.at(0, j)));
    for (size_t j = static_cast<size_t>(length); j < 70; ++j) EXPECT_EQ(cut.at(0, j), 0.0f);
  }
}

TEST(Softmax, HugeValuesAndNan) {
  Matrix x(1, 20, 20), y(1, 20, 20);
  for (size_t j = 0; j < 20; ++j) x.at(0, j) = j == 7 ? 3e38f : -3e38f;
  test::table().softmax(args_of(x, 1, 20, 1, y));
  for (size_t j = 0; j < 20; ++j) EXPECT_EQ(y.at(0, j), j == 7 ? 1.0f : 0.0f);
  for (size_t j = 0; j < 20; ++j) x.at(0, j) = j == 7 ? 1.0f : -INFINITY;  // removed keys
  test::table().softmax(args_of(x, 1, 20, 1, y));
  for (size_t j = 0; j < 20; ++j) EXPECT_EQ(y.at(0, j), j == 7 ? 1.0f : 0.0f);
  for (size_t where = 0; where < 20; ++where) {  // NaN reaches the whole row, wherever it is
    for (size_t j = 0; j < 20; ++j) x.at(0, j) = j == where ? NAN : static_cast<float>(j);
    test::table().softmax(args_of(x, 1, 20, 1, y));
    for (size_t j = 0; j < 20; ++j) EXPECT_TRUE(std::isnan(y.at(0, j)));
  }
}

}  // namespace
}  // namespace saccade::kernels
