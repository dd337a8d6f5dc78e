// What the steps of a plan do. A step is cut into tiles; any worker may run any tile, in any order.
#pragma once

#include "runtime/execute/run_state.h"

namespace saccade {
inline namespace v0 {

// Cuts every step of this run for at most so many workers, and returns how many to use (geometry.cc). Decides order and grouping
// only, never bits.
int plan_phases(RunState& run, int threads);

// One tile of a phase; `worker` names the scratch area. Fails when a linear backend does, or with kCancelled when the stop flag
// was seen on the way.
Status run_tile(const RunState& run, const Phase& phase, int64_t tile, int worker);

// ---- by kind, for run_tile

// Rows [begin, end) of a step.
struct RowRange {
  int64_t begin = 0, end = 0;
};
Status matmul_tile(const RunState& run, const Step& step, const Phase& phase, int64_t tile);              // matmul_step.cc
Status attention_tile(const RunState& run, const Step& step, const AttentionTask& task, float* scratch);  // attention_step.cc
void row_step(const RunState& run, const Step& step, RowRange rows);                          // row_steps.cc: everything else
void row_op(const RunState& run, const Node& node, int32_t from, int32_t to, RowRange rows);  // norm or l2_normalize

}  // namespace v0
}  // namespace saccade
