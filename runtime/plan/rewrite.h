// What passes ask about steps.
#pragma once

#include <algorithm>

#include "runtime/plan/plan_data.h"

namespace saccade {
inline namespace v0 {

// How many reads a value has, outputs included.
inline int count_reads(const PlanData& plan, int32_t value) {
  int count = 0;
  for (const Step& step : plan.steps) {
    for_each_read(step, [&](int32_t read) { count += read == value; });
  }
  return count;
}

// Index of the step that writes a value, or kNone.
inline int32_t writer_of(const PlanData& plan, int32_t value) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    bool found = false;
    for_each_write(plan.steps[i], [&](int32_t write) { found |= write == value; });
    if (found) return static_cast<int32_t>(i);
  }
  return kNone;
}

// Whether the step computes each row from the same rows of its operands.
inline bool row_by_row(StepKind kind) {
  switch (kind) {
    case StepKind::kMatmul:
    case StepKind::kMap:
    case StepKind::kGate:
    case StepKind::kAdd:
    case StepKind::kNorm:
    case StepKind::kL2Normalize:
    case StepKind::kRope:
      return true;
    default:
      return false;
  }
}

// The step's only section when it is a linear that has no fused row op yet, else null.
inline Section* single_section(Step& step) {
  if (step.kind != StepKind::kMatmul || step.sections.size() != 1 || step.then != kNone) return nullptr;
  return &step.sections[0];
}

inline void erase_step(PlanData& plan, size_t index) {
  plan.steps.erase(plan.steps.begin() + static_cast<std::ptrdiff_t>(index));
}

kernels::Unary unary_of(Activation f);

}  // namespace v0
}  // namespace saccade
