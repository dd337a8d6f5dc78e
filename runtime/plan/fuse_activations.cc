// linear, then activation, where nothing else reads the linear: the epilogue applies it.
#include "runtime/plan/passes.h"
#include "runtime/plan/rewrite.h"

namespace saccade {
inline namespace v0 {

void fuse_activations(PlanData& plan) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& map = plan.steps[i];
    if (map.kind != StepKind::kMap || count_reads(plan, map.in[0]) != 1) continue;
    const int32_t writer = writer_of(plan, map.in[0]);
    Section* section = writer == kNone ? nullptr : single_section(plan.steps[static_cast<size_t>(writer)]);
    if (section == nullptr || section->residual != kNone || section->activation != kernels::Unary::kIdentity) continue;
    section->activation = unary_of(plan.node(map).f);
    section->out = map.out;
    erase_step(plan, i--);
  }
}

}  // namespace v0
}  // namespace saccade
