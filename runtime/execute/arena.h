// The memory of one context: the values of its plan, then a scratch area for each worker. Grows to the largest batch seen.
#pragma once

#include "runtime/execute/memory.h"
#include "runtime/plan/plan_data.h"

namespace saccade {
inline namespace v0 {

class Arena {
 public:
  // Room for a batch of this size and so many workers; what was there is lost when it grows. Fails with resource_exhausted.
  void reserve(const PlanData& plan, const BatchSize& size, int threads);
  void trim() { block_.release(); }
  int64_t bytes() const { return static_cast<int64_t>(block_.bytes()); }

  float* data() const { return block_.floats(); }

 private:
  AlignedBlock block_;
};

}  // namespace v0
}  // namespace saccade
