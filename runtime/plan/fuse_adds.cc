// linear, then add, where nothing else reads the linear: the epilogue adds the other operand. The linear moves to the place of
// the add, where both operands are there. Where both are linears, the later one is taken: it is the one still in cache.
#include "runtime/plan/passes.h"
#include "runtime/plan/rewrite.h"

namespace saccade {
inline namespace v0 {

void fuse_adds(PlanData& plan) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[i].kind != StepKind::kAdd) continue;
    const Step add = plan.steps[i];
    int32_t best = kNone, other = kNone;
    for (size_t operand = 0; operand < 2; ++operand) {
      if (count_reads(plan, add.in[operand]) != 1) continue;  // twice for x + x
      const int32_t writer = writer_of(plan, add.in[operand]);
      if (writer <= best) continue;
      const Section* section = single_section(plan.steps[static_cast<size_t>(writer)]);
      if (section == nullptr || section->residual != kNone) continue;
      best = writer, other = add.in[1 - operand];
    }
    if (best == kNone) continue;
    Step linear = std::move(plan.steps[static_cast<size_t>(best)]);
    linear.sections[0].residual = other;
    linear.sections[0].out = add.out;
    plan.steps[i] = std::move(linear);
    erase_step(plan, static_cast<size_t>(best));
    --i;
  }
}

}  // namespace v0
}  // namespace saccade
