#include "tests/reference/rope.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/isa.h"
#include "tests/support/matrix.h"

namespace saccade::kernels {
namespace {

using test::kEps;
using test::Matrix;
using test::Random;

TEST(Rope, MatchesTheReference) {
  Random random(12);
  constexpr size_t kRows = 4, kPositions = 5;
  struct Shape {
    size_t heads, head_dim, rotary_dim;
  };
  for (const Shape& shape :
       {Shape{1, 2, 2}, {3, 8, 8}, {2, 10, 6}, {2, 32, 32}, {2, 33, 18}, {1, 64, 64}, {3, 80, 34}, {2, 7, 0}, {2, 130, 130}}) {
    for (bool interleaved : {false, true}) {
      const size_t width = shape.heads * shape.head_dim, half = shape.rotary_dim / 2;
      Matrix x(kRows, width, width + 3, random), y(kRows, width, width + 1);
      Matrix cos(kPositions, half, half == 0 ? 1 : half, random), sin(kPositions, half, half == 0 ? 1 : half, random);
      test::Guarded<int32_t> positions(kRows);
      for (int32_t& p : positions) p = static_cast<int32_t>(random.integer(0, kPositions - 1));
      positions[0] = kPositions - 1;  // the tables' last row
      RopeArgs args{.x = x.data(),
                    .x_stride = x.stride(),
                    .rows = kRows,
                    .heads = shape.heads,
                    .head_dim = shape.head_dim,
                    .rotary_dim = shape.rotary_dim,
                    .interleaved = interleaved,
                    .positions = positions.data(),
                    .cos = cos.data(),
                    .sin = sin.data(),
                    .y = y.data(),
                    .y_stride = y.stride()};
      test::table().rope(args);
      const std::vector<double> want = reference::rope(args);
      test::Comparison comparison("rope of head_dim " + std::to_string(shape.head_dim), random.seed());
      for (size_t i = 0; i < want.size(); ++i) {
        const bool rotated = i % width % shape.head_dim < shape.rotary_dim;
        // Two products up to 1 and their sum: three roundings at most.
        comparison.add(i / width, i % width, static_cast<double>(y.at(i / width, i % width)), want[i], rotated ? 2 * kEps : 0);
      }
      EXPECT_TRUE(comparison.result());
      EXPECT_TRUE(y.gaps_untouched());
      args.y = x.data(), args.y_stride = x.stride();
      test::table().rope(args);
      EXPECT_TRUE(test::same_bits(y.values(), x.values())) << "in place";
    }
  }
}

// The two orders of pairs are one rotation: the same bits after moving the columns.
TEST(Rope, InterleavedIsAPermutation) {
  Random random(13);
  constexpr size_t kDim = 26, kHalf = kDim / 2;
  Matrix x(1, kDim, kDim, random), moved(1, kDim, kDim), cos(1, kHalf, kHalf, random), sin(1, kHalf, kHalf, random);
  for (size_t i = 0; i < kHalf; ++i) moved.at(0, 2 * i) = x.at(0, i), moved.at(0, 2 * i + 1) = x.at(0, i + kHalf);
  const int32_t position = 0;
  RopeArgs args{.x = x.data(),
                .x_stride = kDim,
                .rows = 1,
                .heads = 1,
                .head_dim = kDim,
                .rotary_dim = kDim,
                .positions = &position,
                .cos = cos.data(),
                .sin = sin.data(),
                .y = x.data(),
                .y_stride = kDim};
  test::table().rope(args);
  args.interleaved = true, args.x = moved.data(), args.y = moved.data();
  test::table().rope(args);
  for (size_t i = 0; i < kHalf; ++i) {
    EXPECT_TRUE(test::same_bits(moved.at(0, 2 * i), x.at(0, i)));
    EXPECT_TRUE(test::same_bits(moved.at(0, 2 * i + 1), x.at(0, i + kHalf)));
  }
}

}  // namespace
}  // namespace saccade::kernels
