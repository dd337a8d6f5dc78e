// Strided matrices for kernel tests: the last element touches a guard page, the columns behind each row's width hold NaN, and a
// test asks afterwards whether they still do.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/support/buffer.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace saccade::test {

class Matrix {
 public:
  // `stride` >= width; the buffer holds no more than the last row's width. Addresses are as misaligned as width and stride make
  // them.
  Matrix(size_t rows, size_t width, size_t stride)
      : rows_(rows), width_(width), stride_(stride), floats_(rows == 0 ? 0 : (rows - 1) * stride + width) {}
  Matrix(size_t rows, size_t width, size_t stride, Random& random, float low = -1, float high = 1) : Matrix(rows, width, stride) {
    for (size_t r = 0; r < rows; ++r) {
      for (size_t j = 0; j < width; ++j) at(r, j) = random.uniform(low, high);
    }
  }
  float* data() { return floats_.data(); }
  size_t stride() const { return stride_; }
  float& at(size_t r, size_t j) { return floats_[r * stride_ + j]; }
  std::vector<float> values() {
    std::vector<float> list;
    for (size_t r = 0; r < rows_; ++r) list.insert(list.end(), &at(r, 0), &at(r, 0) + width_);
    return list;
  }
  // No element between the rows was written.
  bool gaps_untouched() const {
    for (size_t i = 0; i < floats_.size(); ++i) {
      if (i % stride_ >= width_ && !std::isnan(floats_[i])) return false;
    }
    return true;
  }

 private:
  size_t rows_, width_, stride_;
  Guarded<float> floats_;
};

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

// Widths around vectors and unrolled loops of every ISA: up to four vectors of 16 and one more, and one of some size.
inline std::vector<size_t> test_widths() { return {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 129, 384}; }

}  // namespace saccade::test
