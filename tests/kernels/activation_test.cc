// map, gate and add: strides, tails, in place. The functions themselves are tested in math_test.cc.
#include "tests/reference/activation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/isa.h"
#include "tests/support/matrix.h"

namespace saccade::kernels {
namespace {

using test::kEps;
using test::Matrix;
using test::Random;

constexpr size_t kRows = 3;
constexpr Unary kAll[] = {Unary::kIdentity, Unary::kRelu,    Unary::kGeluErf, Unary::kGeluTanh, Unary::kSilu,
                          Unary::kTanh,     Unary::kSigmoid, Unary::kErf,     Unary::kExp2};

void expect_close(const char* what, Matrix& y, const std::vector<double>& want, size_t width, uint32_t seed) {
  test::Comparison comparison(std::string(what) + " of width " + std::to_string(width), seed);
  for (size_t i = 0; i < want.size(); ++i) {
    // 4 eps of the function (GELU: of a hundredth of x <= 4), 1 of the product
    const double bound = 5 * kEps * std::fmax(std::fabs(want[i]), 0.04);
    comparison.add(i / width, i % width, static_cast<double>(y.at(i / width, i % width)), want[i], bound);
  }
  EXPECT_TRUE(comparison.result());
  EXPECT_TRUE(y.gaps_untouched());
}

TEST(Activation, MapAndGate) {
  Random random(8);
  for (size_t width : test::test_widths()) {
    for (Unary f : kAll) {
      Matrix x(kRows, width, width + 1, random, -4, 4), up(kRows, width, width + 2, random), y(kRows, width, width + 3);
      MapArgs map{
          .x = x.data(), .x_stride = x.stride(), .rows = kRows, .width = width, .f = f, .y = y.data(), .y_stride = y.stride()};
      test::table().map(map);
      expect_close("map", y, reference::map(map), width, random.seed());
      const std::vector<float> mapped = y.values();

      GateArgs gate{.x = x.data(),
                    .x_stride = x.stride(),
                    .up = up.data(),
                    .up_stride = up.stride(),
                    .rows = kRows,
                    .width = width,
                    .f = f,
                    .y = y.data(),
                    .y_stride = y.stride()};
      test::table().gate(gate);
      expect_close("gate", y, reference::gate(gate), width, random.seed());
      const std::vector<float> gated = y.values();

      gate.y = up.data(), gate.y_stride = up.stride();
      test::table().gate(gate);
      EXPECT_TRUE(test::same_bits(gated, up.values())) << "gate in place";
      map.y = x.data(), map.y_stride = x.stride();
      test::table().map(map);
      EXPECT_TRUE(test::same_bits(mapped, x.values())) << "map in place";
    }
  }
}

// An element has the same bits in a full vector and in a tail, at any address.
TEST(Activation, TailsAreVectors) {
  Random random(9);
  Matrix x(1, 97, 97, random, -6, 6), whole(1, 97, 97), part(1, 97, 97);
  for (Unary f : kAll) {
    test::table().map({.x = x.data(), .x_stride = 97, .rows = 1, .width = 97, .f = f, .y = whole.data(), .y_stride = 97});
    for (size_t j = 0; j < 97; ++j) {
      test::table().map({.x = x.data() + j, .x_stride = 1, .rows = 1, .width = 1, .f = f, .y = part.data() + j, .y_stride = 1});
    }
    EXPECT_TRUE(test::same_bits(whole.values(), part.values()));
  }
}

TEST(Activation, Add) {
  Random random(10);
  for (size_t width : test::test_widths()) {
    Matrix a(kRows, width, width + 1, random), b(kRows, width, width + 2, random), y(kRows, width, width + 3);
    AddArgs args{.a = a.data(),
                 .a_stride = a.stride(),
                 .b = b.data(),
                 .b_stride = b.stride(),
                 .rows = kRows,
                 .width = width,
                 .y = y.data(),
                 .y_stride = y.stride()};
    test::table().add(args);
    const std::vector<double> want = reference::add(args);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(y.at(i / width, i % width), static_cast<float>(want[i]));
    EXPECT_TRUE(y.gaps_untouched());
    args.y = b.data(), args.y_stride = b.stride();
    test::table().add(args);
    EXPECT_TRUE(test::same_bits(y.values(), b.values()));
  }
}

}  // namespace
}  // namespace saccade::kernels
