// Comparison of float results with the double reference. The bound of each element is computed by the test (from eps, length and
// norms); the report names the worst element.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

namespace saccade::test {

inline constexpr double kEps = 1.1920928955078125e-07;  // 2^-23

// Collects element comparisons: |got - want| <= bound, NaN equal to NaN, infinities equal by sign.
class Comparison {
 public:
  explicit Comparison(std::string what, uint32_t seed = 0) : what_(std::move(what)), seed_(seed) {}
  void add(size_t row, size_t column, double got, double want, double bound) {
    ++count_;
    double excess;
    if (std::isnan(want) || std::isnan(got)) {
      excess = std::isnan(want) && std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
    } else if (std::isinf(want) || std::isinf(got)) {
      excess = want == got ? 0 : std::numeric_limits<double>::infinity();
    } else {
      const double error = std::fabs(got - want);
      excess = error == 0 ? 0 : (bound > 0 ? error / bound : std::numeric_limits<double>::infinity());
    }
    if (count_ == 1 || excess > worst_) {
      worst_ = excess, row_ = row, column_ = column, got_ = got, want_ = want, bound_ = bound;
    }
  }
  double worst() const { return worst_; }  // largest error / bound
  testing::AssertionResult result() const {
    if (worst_ <= 1) return testing::AssertionSuccess();
    return testing::AssertionFailure() << what_ << ": worst of " << count_ << " elements is [" << row_ << "][" << column_ << "]: got "
                                       << got_ << ", want " << want_ << ", allowed difference " << bound_ << ", seed " << seed_;
  }

 private:
  std::string what_;
  uint32_t seed_;
  size_t count_ = 0, row_ = 0, column_ = 0;
  double worst_ = 0, got_ = 0, want_ = 0, bound_ = 0;
};

inline bool same_bits(float a, float b) {
  uint32_t x, y;
  std::memcpy(&x, &a, 4);
  std::memcpy(&y, &b, 4);
  return x == y;
}

}  // namespace saccade::test
