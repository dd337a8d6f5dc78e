// Floating-point state of the calling thread while kernels run: denormals count as zero, rounding to nearest, no traps. What the
// program had before is put back.
#pragma once

#include "kernels/isa.h"

namespace saccade {
inline namespace v0 {

class FloatState {
 public:
  FloatState() : before_(kernels::set_float_state()) {}
  ~FloatState() { kernels::restore_float_state(before_); }
  FloatState(const FloatState&) = delete;
  FloatState& operator=(const FloatState&) = delete;

 private:
  uint64_t before_;
};

}  // namespace v0
}  // namespace saccade
