// oneDNN as a linear backend against a double loop: every tile and tail, strides, both weight layouts, two threads at once, and
// what it must leave alone.
#include "saccade/onednn.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/threads.h"
#include "tests/support/buffer.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace saccade {
namespace {

using test::Comparison;
using test::Guarded;
using test::kEps;
using test::Random;

std::shared_ptr<LinearBackend> backend() {
  auto made = onednn_backend();
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? *made : nullptr;
}

struct Problem {
  int64_t in, out;
  bool out_in;  // PyTorch's layout
  bool bias;
  Guarded<float> w, b;

  Problem(Random& random, int64_t width_in, int64_t width_out, bool pytorch, bool with_bias)
      : in(width_in),
        out(width_out),
        out_in(pytorch),
        bias(with_bias),
        w(static_cast<size_t>(width_in * width_out)),
        b(static_cast<size_t>(width_out)) {
    random.fill(w);
    random.fill(b);
  }
  LinearSpec spec() const {
    return {.w = w.data(),
            .in = in,
            .out = out,
            .in_stride = out_in ? 1 : out,
            .out_stride = out_in ? in : 1,
            .bias = bias ? b.data() : nullptr};
  }

  // Runs rows of x with the given distances between rows and compares; floats between rows of y must stay untouched.
  void check(const PreparedLinear& linear, Random& random, int64_t rows, int64_t x_stride, int64_t y_stride) const {
    Guarded<float> x(static_cast<size_t>((rows - 1) * x_stride + in)), y(static_cast<size_t>((rows - 1) * y_stride + out));
    random.fill(x);
    // Floats between rows of x are not read: NaN would spread.
    for (int64_t r = 0; r + 1 < rows; ++r) {
      for (int64_t i = in; i < x_stride; ++i) x[static_cast<size_t>(r * x_stride + i)] = std::nanf("");
    }
    const Status status = linear.run(x.data(), x_stride, rows, y.data(), y_stride);
    ASSERT_TRUE(status.ok()) << status.message();
    Comparison comparison("linear " + std::to_string(rows) + "x" + std::to_string(out) + "x" + std::to_string(in), random.seed());
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < out; ++j) {
        double sum = 0, size = 0;
        for (int64_t i = 0; i < in; ++i) {
          const double product = double{x[static_cast<size_t>(r * x_stride + i)]} *
                                 double{w[static_cast<size_t>(out_in ? j * in + i : i * out + j)]};
          sum += product;
          size += std::fabs(product);
        }
        if (bias) {
          sum += double{b[static_cast<size_t>(j)]};
          size += std::fabs(double{b[static_cast<size_t>(j)]});
        }
        comparison.add(static_cast<size_t>(r), static_cast<size_t>(j), double{y[static_cast<size_t>(r * y_stride + j)]}, sum,
                       std::sqrt(static_cast<double>(in) + 1) * kEps * size);
      }
      for (int64_t j = out; r + 1 < rows && j < y_stride; ++j) {
        ASSERT_TRUE(std::isnan(y[static_cast<size_t>(r * y_stride + j)])) << "row " << r << ", float " << j << " was written";
      }
    }
    EXPECT_TRUE(comparison.result());
  }
};

TEST(Onednn, EveryRowCount) {
  Random random(1);
  const auto onednn = backend();
  EXPECT_EQ(onednn->row_tile(), 256);
  const Problem problem(random, 12, 20, false, true);
  auto linear = onednn->prepare(problem.spec());
  ASSERT_TRUE(linear.ok()) << linear.status().message();
  EXPECT_GE((*linear)->bytes(), (12 * 20 + 20) * 4);
  for (int64_t rows = 1; rows <= 300; ++rows) problem.check(**linear, random, rows, problem.in, problem.out);
  problem.check(**linear, random, 1021, problem.in, problem.out);
  EXPECT_TRUE((*linear)->run(nullptr, 12, 0, nullptr, 20).ok());
}

TEST(Onednn, ShapesLayoutsBiasAndStrides) {
  Random random(2);
  const auto onednn = backend();
  for (int64_t in : {1, 2, 7, 33, 64}) {
    for (int64_t out : {1, 2, 5, 16, 65}) {
      for (bool out_in : {false, true}) {
        for (bool bias : {false, true}) {
          const Problem problem(random, in, out, out_in, bias);
          auto linear = onednn->prepare(problem.spec());
          ASSERT_TRUE(linear.ok()) << linear.status().message();
          for (int64_t rows : {1, 3, 19}) {
            problem.check(**linear, random, rows, in, out);
            problem.check(**linear, random, rows, in + 3, out);
            problem.check(**linear, random, rows, in, out + 5);
            problem.check(**linear, random, rows, in + 1, out + 1);
          }
        }
      }
    }
  }
}

TEST(Onednn, EncoderShape) {
  Random random(3);
  const auto onednn = backend();
  const Problem problem(random, 384, 384, true, true);
  auto linear = onednn->prepare(problem.spec());
  ASSERT_TRUE(linear.ok());
  problem.check(**linear, random, 300, 400, 416);
}

TEST(Onednn, AWeightThatIsPartOfALargerMatrix) {
  Random random(4);
  const auto onednn = backend();
  // Columns 3..9 of an [8][20] matrix.
  std::vector<float> w(8 * 20), x(2 * 8), y(2 * 7);
  random.fill(w);
  random.fill(x);
  auto linear = onednn->prepare({.w = w.data() + 3, .in = 8, .out = 7, .in_stride = 20, .out_stride = 1});
  ASSERT_TRUE(linear.ok()) << linear.status().message();
  w.assign(w.size(), std::nanf(""));  // the backend keeps its own copy
  Random again(4);
  again.fill(w);
  ASSERT_TRUE((*linear)->run(x.data(), 8, 2, y.data(), 7).ok());
  for (size_t r = 0; r < 2; ++r) {
    for (size_t j = 0; j < 7; ++j) {
      double sum = 0;
      for (size_t i = 0; i < 8; ++i) sum += double{x[r * 8 + i]} * double{w[i * 20 + 3 + j]};
      EXPECT_NEAR(double{y[r * 7 + j]}, sum, 1e-5);
    }
  }
}

TEST(Onednn, SeveralThreadsAtOnce) {
  Random random(5);
  const auto onednn = backend();
  const Problem problem(random, 96, 80, false, true);
  auto linear = onednn->prepare(problem.spec());
  ASSERT_TRUE(linear.ok());
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Random own(100 + t);
      for (int64_t rows = 1; rows < 40; rows += 3) problem.check(**linear, own, rows, 96 + t, 80 + t);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Onednn, StartsNoThreadAndLeavesOpenMpAlone) {
  const auto max_threads = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  const auto set_threads = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  const int threads = test::thread_count();
  if (set_threads != nullptr) set_threads(3);
  Random random(6);
  const auto onednn = backend();
  const Problem problem(random, 256, 256, false, true);
  auto linear = onednn->prepare(problem.spec());
  ASSERT_TRUE(linear.ok());
  problem.check(**linear, random, 256, 256, 256);
  EXPECT_EQ(test::thread_count(), threads);
  if (max_threads != nullptr) {
    EXPECT_EQ(max_threads(), 3);
  }
}

TEST(Onednn, RefusesBadSpecs) {
  const auto onednn = backend();
  const float w[4] = {1, 2, 3, 4};
  const LinearSpec good{.w = w, .in = 2, .out = 2, .in_stride = 2, .out_stride = 1};
  ASSERT_TRUE(onednn->prepare(good).ok());
  const auto refused = [&](auto change) {
    LinearSpec spec = good;
    change(spec);
    const auto made = onednn->prepare(spec);
    EXPECT_EQ(made.status().code(), Code::kInvalidArgument) << made.status().message();
  };
  refused([](LinearSpec& s) { s.w = nullptr; });
  refused([](LinearSpec& s) { s.in = 0; });
  refused([](LinearSpec& s) { s.out = -1; });
  refused([](LinearSpec& s) { s.in = INT64_MAX; });
  refused([](LinearSpec& s) { s.in_stride = 0; });
  refused([](LinearSpec& s) { s.out_stride = -1; });
  const auto linear = onednn->prepare(good);
  float x[4] = {}, y[4] = {};
  EXPECT_EQ((*linear)->run(nullptr, 2, 2, y, 2).code(), Code::kInvalidArgument);
  EXPECT_EQ((*linear)->run(x, 2, 2, nullptr, 2).code(), Code::kInvalidArgument);
  EXPECT_EQ((*linear)->run(x, 1, 2, y, 2).code(), Code::kInvalidArgument);
  EXPECT_TRUE((*linear)->run(x, 2, 2, y, 2).ok());
}

TEST(Onednn, SaysWhichVersion) {
  EXPECT_EQ(std::string("oneDNN ") + onednn_version(), backend()->name());
  EXPECT_NE(std::string(onednn_version()).find('.'), std::string::npos);
}

}  // namespace
}  // namespace saccade
