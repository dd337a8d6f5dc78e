// What the steps of a plan do. A step is cut into tiles; any worker may run any tile, in any order.
#pragma once

#include "runtime/execute/run_state.h"

namespace saccade {
inline namespace v0 {

// Cuts every step of this run for at most so many workers, and returns how many to use (geometry.cc). Decides order and grouping
// only, never bits.
int plan_phases(RunState& run, int threads);

// One tile of a phase; `index` is the worker's. Fails when a linear backend does, or with kCancelled when the stop flag was seen
// on the way.
Status run_tile(RunState& run, const Phase& phase, int64_t tile, int index);

// Tells the trace, if there is one, about `tiles` of a step that began at that time.
int64_t trace_time(const RunState& run);  // 0 without a trace
void trace_step(const RunState& run, int32_t step, int index, int64_t begin, int64_t tiles);

// ---- by kind, for run_tile

// Rows [begin, end) of a step.
struct RowRange {
  int64_t begin = 0, end = 0;
};
// All rows of `rows` times part `split` of `splits` of the panels; with all of them (splits 1), the row op too.
Status matmul_tile(const WorkerRun& worker, const Step& step, RowRange rows, int64_t split, int64_t splits);  // matmul_step.cc
Status attention_tile(const WorkerRun& worker, const Step& step, const AttentionTask& task);                  // attention_step.cc
void row_step(const WorkerRun& worker, const Step& step, RowRange rows);  // row_steps.cc: everything else, then its row op
void row_op(const WorkerRun& worker, const Step& step, RowRange rows);    // the norm or l2_normalize of Step::then

}  // namespace v0
}  // namespace saccade
