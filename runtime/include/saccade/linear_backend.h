// The door for another library's matrix product: linears of a plan only, chosen by PlanOptions::linear_backend.
#pragma once

#include <cstdint>
#include <memory>

#include "saccade/export.h"
#include "saccade/status.h"

namespace saccade {
inline namespace v0 {

// y[r][j] = sum_i x[r][i] w[i * in_stride + j * out_stride] + bias[j]; bias may be null. f32.
struct LinearSpec {
  const float* w = nullptr;
  int64_t in = 0, out = 0;
  int64_t in_stride = 0, out_stride = 0;
  const float* bias = nullptr;
};

// A weight in the backend's own form. run may be called from several threads at once and must not start threads.
class SACCADE_EXPORT PreparedLinear {
 public:
  virtual ~PreparedLinear() = default;
  virtual Status run(const float* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride) const = 0;
  virtual int64_t bytes() const = 0;  // memory held
};

class SACCADE_EXPORT LinearBackend {
 public:
  virtual ~LinearBackend() = default;
  virtual const char* name() const = 0;  // "oneDNN 2.6.3"
  virtual int64_t row_tile() const = 0;  // rows of one call that suit it best
  virtual Result<std::unique_ptr<PreparedLinear>> prepare(const LinearSpec& spec) = 0;
};

}  // namespace v0
}  // namespace saccade
