// The functions of Unary against double, through `map`: sampled in the quick tests, exhaustively in Full.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/reference/math.h"
#include "tests/support/compare.h"
#include "tests/support/isa.h"

namespace saccade::kernels {
namespace {

using test::kEps;

struct Function {
  Unary f;
  const char* name;
  double ulps;       // allowed error in ulp of the result; 0: GELU's bound
  float saturation;  // |x| beyond which nothing changes any more
};
constexpr Function kFunctions[] = {
    {Unary::kIdentity, "identity", 1e-9, 1}, {Unary::kRelu, "relu", 1e-9, 1},      {Unary::kExp2, "exp2", 1.5, 150},
    {Unary::kErf, "erf", 4, 4.5f},           {Unary::kTanh, "tanh", 4, 10.5f},     {Unary::kSigmoid, "sigmoid", 4, 104},
    {Unary::kSilu, "silu", 4, 111},          {Unary::kGeluErf, "gelu_erf", 0, 11}, {Unary::kGeluTanh, "gelu_tanh", 0, 11},
};

// The distance between floats at |x|, in [2^-149, 2^104].
double ulp(double x) {
  const uint64_t exponent = std::bit_cast<uint64_t>(std::fabs(x)) & 0x7ff0000000000000u;
  return std::fmax(std::bit_cast<double>(exponent) * 0x1p-23, 0x1p-149);
}

// Error / bound, the bound that math.h promises: up to 1 is right. Results that are not normal may be 0.
double excess(const Function& function, float x, float got) {
  const double want = reference::unary(function.f, static_cast<double>(x));
  const double y = static_cast<double>(got);
  if (std::isnan(want) || std::isnan(y)) return std::isnan(want) && std::isnan(y) ? 0 : INFINITY;
  if (std::fabs(want) >= 0x1.ffffffp127) return y == std::copysign(INFINITY, want) ? 0 : INFINITY;  // rounds to infinity
  const double error = std::fabs(y - want);
  if (function.ulps == 0)
    return error / (4 * kEps * std::fmax(std::fabs(want), 0.01 * std::fabs(static_cast<double>(x))) + 0x1p-126);
  if (std::fabs(want) < 0x1p-126) return y == 0 ? 0 : error / (function.ulps * 0x1p-149);
  return error / (function.ulps * ulp(want));
}

struct Worst {
  double excess = 0;
  float x = 0, got = 0;
  void add(double e, float at, float y) {
    if (e > excess || std::isnan(e)) excess = e, x = at, got = y;
  }
};

// Checks both signs of the patterns first, first + stride, ... up to `last`, on all cores.
Worst sweep(const Function& function, uint32_t first, uint32_t last, uint32_t stride) {
  constexpr uint32_t kBlock = 4096;
  std::atomic<uint64_t> next{first};
  std::mutex mutex;
  Worst worst;
  const auto work = [&] {
    std::vector<float> x(2 * kBlock), y(2 * kBlock);
    Worst mine;
    for (;;) {
      const uint64_t begin = next.fetch_add(uint64_t{kBlock} * stride);
      if (begin > last) break;
      size_t count = 0;
      for (uint64_t bits = begin; bits < begin + uint64_t{kBlock} * stride && bits <= last; bits += stride) {
        x[count] = std::bit_cast<float>(static_cast<uint32_t>(bits));
        x[count + 1] = -x[count];
        count += 2;
      }
      test::table().map(
          {.x = x.data(), .x_stride = count, .rows = 1, .width = count, .f = function.f, .y = y.data(), .y_stride = count});
      for (size_t i = 0; i < count; ++i) mine.add(excess(function, x[i], y[i]), x[i], y[i]);
    }
    const std::lock_guard lock(mutex);
    worst.add(mine.excess, mine.x, mine.got);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return worst;
}

constexpr uint32_t kInfinity = 0x7f800000;

void expect_right(const Function& function, const Worst& worst) {
  std::printf("%-9s largest error / bound %.3f at %.9g\n", function.name, worst.excess, static_cast<double>(worst.x));
  EXPECT_LE(worst.excess, 1) << function.name << "(" << std::hexfloat << worst.x << ") = " << worst.got << ", want "
                             << reference::unary(function.f, static_cast<double>(worst.x));
}

// Every 16,381st float of each sign.
TEST(Math, SampledFloats) {
  for (const Function& function : kFunctions) expect_right(function, sweep(function, 0, kInfinity, 16381));
}

// Every float with 2^-24 <= |x| <= saturation, both signs; every 1,021st outside.
TEST(MathFull, EveryFloat) {
  for (const Function& function : kFunctions) {
    if (function.f == Unary::kIdentity || function.f == Unary::kRelu) continue;  // exact; the sampled floats are enough
    const uint32_t low = std::bit_cast<uint32_t>(0x1p-24f), high = std::bit_cast<uint32_t>(function.saturation);
    Worst worst = sweep(function, low, high, 1);
    for (const Worst& outside : {sweep(function, 0, low, 1021), sweep(function, high, kInfinity, 1021)}) {
      worst.add(outside.excess, outside.x, outside.got);
    }
    expect_right(function, worst);
  }
}

float call(Unary f, float x) {
  float y = 0;
  test::table().map({.x = &x, .x_stride = 1, .rows = 1, .width = 1, .f = f, .y = &y, .y_stride = 1});
  return y;
}

TEST(Math, EveryKindOfNanStaysNan) {
  for (const Function& function : kFunctions) {
    for (uint32_t bits :
         {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0x7fffffffu, 0xffffffffu, 0x7fc00180u, 0x7fc00081u, 0x7fc001ffu}) {
      EXPECT_TRUE(std::isnan(call(function.f, std::bit_cast<float>(bits)))) << function.name << " " << std::hex << bits;
    }
  }
}

TEST(Math, ZerosAndInfinities) {
  const float inf = std::numeric_limits<float>::infinity();
  struct Point {
    Unary f;
    float x, y;
  };
  for (const Point& p : {Point{Unary::kExp2, inf, inf},   {Unary::kExp2, -inf, 0},     {Unary::kExp2, 0, 1},
                         {Unary::kExp2, -0.0f, 1},        {Unary::kExp2, 128, inf},    {Unary::kExp2, 127, 0x1p127f},
                         {Unary::kExp2, -126, 0x1p-126f}, {Unary::kExp2, -151, 0},     {Unary::kErf, inf, 1},
                         {Unary::kErf, -inf, -1},         {Unary::kErf, 0, 0},         {Unary::kTanh, inf, 1},
                         {Unary::kTanh, -inf, -1},        {Unary::kTanh, 0, 0},        {Unary::kSigmoid, inf, 1},
                         {Unary::kSigmoid, -inf, 0},      {Unary::kSigmoid, 0, 0.5f},  {Unary::kSilu, inf, inf},
                         {Unary::kSilu, -inf, 0},         {Unary::kSilu, 0, 0},        {Unary::kGeluErf, inf, inf},
                         {Unary::kGeluErf, -inf, 0},      {Unary::kGeluErf, 0, 0},     {Unary::kGeluErf, -0.0f, 0},
                         {Unary::kGeluTanh, inf, inf},    {Unary::kGeluTanh, -inf, 0}, {Unary::kGeluTanh, 0, 0},
                         {Unary::kRelu, inf, inf},        {Unary::kRelu, -inf, 0},     {Unary::kRelu, -3, 0}}) {
    EXPECT_EQ(call(p.f, p.x), p.y) << static_cast<int>(p.f) << " " << p.x;
  }
  // Odd functions keep the sign of zero.
  for (Unary f : {Unary::kErf, Unary::kTanh, Unary::kSilu}) {
    EXPECT_TRUE(std::signbit(call(f, -0.0f)));
    EXPECT_FALSE(std::signbit(call(f, 0.0f)));
  }
}

// Where 1 + erf would have lost four digits.
TEST(Math, GeluTail) {
  EXPECT_NEAR(call(Unary::kGeluErf, -2.7f), -0.0093608, 5e-8);
  EXPECT_NEAR(call(Unary::kGeluTanh, -2.7f), -0.0088876, 5e-8);
}

}  // namespace
}  // namespace saccade::kernels
