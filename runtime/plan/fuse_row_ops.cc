// A norm or l2_normalize joins the step that computes its operand: the task that has written a block of rows normalises them
// while they are in cache. The same kernel runs on the same rows, so the bits are those of the separate step.
#include "runtime/plan/passes.h"
#include "runtime/plan/rewrite.h"

namespace saccade {
inline namespace v0 {

void fuse_row_ops(PlanData& plan) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& op = plan.steps[i];
    if (op.kind != StepKind::kNorm && op.kind != StepKind::kL2Normalize) continue;
    const int32_t operand = op.in[0];
    const int32_t writer = writer_of(plan, operand);
    if (writer == kNone) continue;
    Step& step = plan.steps[static_cast<size_t>(writer)];
    const bool fits = single_section(step) != nullptr ||
                      ((step.kind == StepKind::kEmbedding || step.kind == StepKind::kPool) && step.then == kNone);
    if (!fits) continue;
    step.then = op.node;
    step.then_out = op.out;
    if (count_reads(plan, operand) == 1) {  // nobody else: normalised in place
      if (step.kind == StepKind::kMatmul) {
        step.sections[0].out = op.out;
      } else {
        step.out = op.out;
      }
    }
    erase_step(plan, i--);
  }
}

}  // namespace v0
}  // namespace saccade
