#include "tests/reference/rows.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/isa.h"
#include "tests/support/isa.h"
#include "tests/support/matrix.h"

namespace saccade::kernels {
namespace {

using test::Matrix;
using test::Random;

TEST(GatherRows, CopiesRowsAndFillsZeros) {
  Random random(15);
  const int64_t index[] = {4, -1, 0, 4, -7, 2};
  for (size_t width : test::test_widths()) {
    Matrix x(5, width, width + 2, random), y(6, width, width + 3);
    const GatherRowsArgs args{
        .x = x.data(), .x_stride = x.stride(), .index = index, .rows = 6, .width = width, .y = y.data(), .y_stride = y.stride()};
    test::table().gather_rows(args);
    const std::vector<double> want = reference::gather_rows(args);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(static_cast<double>(y.at(i / width, i % width)), want[i]);
    EXPECT_TRUE(y.gaps_untouched());
  }
}

// All 65,536 numbers of both formats, with and without flush-to-zero.
TEST(Widen, EveryNumberIsExact) {
  constexpr size_t kAll = 1 << 16;
  test::Guarded<uint16_t> x(kAll);
  test::Guarded<float> y(kAll);
  for (size_t i = 0; i < kAll; ++i) x[i] = static_cast<uint16_t>(i);
  for (bool bfloat16 : {false, true}) {
    for (bool flush : {false, true}) {
      const uint64_t state = flush ? set_float_state() : 0;
      test::table().widen({.x = x.data(), .count = kAll, .bfloat16 = bfloat16, .y = y.data()});
      if (flush) restore_float_state(state);
      for (size_t i = 0; i < kAll; ++i) {
        const double want = bfloat16 ? reference::bfloat16(x[i]) : reference::half(x[i]);
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(y[i])) << i;
        } else {
          ASSERT_TRUE(test::same_bits(y[i], static_cast<float>(want))) << i << ": " << y[i] << ", want " << want;
        }
      }
    }
  }
}

TEST(Widen, Tails) {
  for (bool bfloat16 : {false, true}) {
    for (size_t count = 0; count <= 50; ++count) {
      test::Guarded<uint16_t> x(count);
      test::Guarded<float> y(count);
      for (size_t i = 0; i < count; ++i) x[i] = static_cast<uint16_t>(1 + 0x177 * i);
      test::table().widen({.x = x.data(), .count = count, .bfloat16 = bfloat16, .y = y.data()});
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(y[i], static_cast<float>(bfloat16 ? reference::bfloat16(x[i]) : reference::half(x[i])));
      }
    }
  }
}

}  // namespace
}  // namespace saccade::kernels
