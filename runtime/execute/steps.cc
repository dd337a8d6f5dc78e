#include "runtime/execute/steps.h"

#include <algorithm>

namespace saccade {
inline namespace v0 {

Status run_tile(const RunState& run, const Phase& phase, int64_t tile, int worker) {
  const Step& step = run.plan->steps[static_cast<size_t>(phase.step)];
  switch (step.kind) {
    case StepKind::kMatmul:
      return matmul_tile(run, step, phase, tile);
    case StepKind::kAttention: {
      const AttentionTask& task = run.attention_tasks[static_cast<size_t>(step.work)][static_cast<size_t>(tile)];
      return attention_tile(run, step, task, run.scratch + worker * run.scratch_floats);
    }
    default: {
      const RowRange rows{tile * phase.block, std::min((tile + 1) * phase.block, phase.rows)};
      row_step(run, step, rows);
      if (step.then != kNone) row_op(run, run.plan->nodes[static_cast<size_t>(step.then)], step.out, step.then_out, rows);
      return {};
    }
  }
}

}  // namespace v0
}  // namespace saccade
