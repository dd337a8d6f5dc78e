#include "runtime/execute/arena.h"

#include "runtime/graph/check.h"
#include "runtime/plan/cost.h"

namespace saccade {
inline namespace v0 {

void Arena::reserve(const PlanData& plan, const BatchSize& size, int threads) {
  const int64_t bytes = arena_bytes(plan, size, threads);
  if (bytes < 0 || !block_.reserve(static_cast<size_t>(bytes))) {
    fail(Code::kResourceExhausted, "run: no memory for an arena of ", bytes, " bytes");
  }
}

}  // namespace v0
}  // namespace saccade
