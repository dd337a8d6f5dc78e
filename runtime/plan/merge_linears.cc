// Linears of the same operand become sections of the first one's step: one pass over the rows, one barrier, more tasks. Weights
// stay packed one by one, so that plans with other outputs share them.
#include "runtime/plan/passes.h"
#include "runtime/plan/rewrite.h"

namespace saccade {
inline namespace v0 {

void merge_linears(PlanData& plan) {
  // A residual may not be there yet at the place of the first linear, and a row op needs whole rows.
  const auto mergeable = [](const Step& step) {
    return step.kind == StepKind::kMatmul && step.then == kNone && step.sections[0].residual == kNone;
  };
  for (size_t first = 0; first < plan.steps.size(); ++first) {
    if (!mergeable(plan.steps[first])) continue;
    for (size_t i = first + 1; i < plan.steps.size(); ++i) {
      if (!mergeable(plan.steps[i]) || plan.steps[i].in != plan.steps[first].in) continue;
      plan.steps[first].sections.push_back(std::move(plan.steps[i].sections[0]));
      erase_step(plan, i--);
    }
  }
}

}  // namespace v0
}  // namespace saccade
