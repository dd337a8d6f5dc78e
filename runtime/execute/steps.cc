#include "runtime/execute/steps.h"

#include <algorithm>
#include <chrono>

#include "runtime/plan/cost.h"

namespace saccade {
inline namespace v0 {
namespace {

Status run_step(const WorkerRun& worker, const Step& step, RowRange rows) {
  if (step.kind == StepKind::kMatmul) return matmul_tile(worker, step, rows, 0, 1);
  row_step(worker, step, rows);
  return {};
}

// All steps of a chain on one block of rows. What only they touch lies in the worker's scratch.
Status run_chain(RunState& run, const Chain& chain, RowRange rows, int index) {
  const WorkerRun worker(run, index);
  const int64_t capacity = chain_capacity(run.row_count(chain.rows));
  for (int32_t local : chain.locals) {
    const PlanValue& value = run.plan->value(local);
    worker.places[static_cast<size_t>(local)] = {worker.scratch + value.offset * capacity, static_cast<size_t>(value.stride),
                                                 rows.begin};
  }
  for (int32_t i = chain.first; i < chain.first + chain.count; ++i) {
    if (run.stopped()) return {Code::kCancelled, "stopped"};
    const int64_t begin = trace_time(run);
    Status status = run_step(worker, run.plan->steps[static_cast<size_t>(i)], rows);
    if (!status.ok()) return status;
    trace_step(run, i, index, begin, 1);
  }
  return {};
}

}  // namespace

Status run_tile(RunState& run, const Phase& phase, int64_t tile, int index) {
  const Step& step = run.plan->steps[static_cast<size_t>(phase.step)];
  const WorkerRun worker(run, index);
  if (step.kind == StepKind::kAttention) {
    return attention_tile(worker, step, run.attention_tasks[static_cast<size_t>(step.work)][static_cast<size_t>(tile)]);
  }
  const int64_t block = tile / phase.splits, turn = tile % phase.splits;
  const int64_t split = turn % phase.workers * (phase.splits / phase.workers) + turn / phase.workers;
  const RowRange rows{block * phase.block, std::min((block + 1) * phase.block, phase.rows)};
  if (phase.chain != kNone) return run_chain(run, run.plan->chains[static_cast<size_t>(phase.chain)], rows, index);
  if (phase.then_only) {
    row_op(worker, step, rows);
    return {};
  }
  return step.kind == StepKind::kMatmul ? matmul_tile(worker, step, rows, split, phase.splits) : run_step(worker, step, rows);
}

int64_t trace_time(const RunState& run) {
  if (run.trace == nullptr) return 0;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void trace_step(const RunState& run, int32_t step, int index, int64_t begin, int64_t tiles) {
  if (run.trace == nullptr) return;
  run.trace->event({.step = step,
                    .name = run.plan->steps[static_cast<size_t>(step)].name.c_str(),
                    .worker = index,
                    .begin_ns = begin,
                    .end_ns = trace_time(run),
                    .tiles = tiles});
}

}  // namespace v0
}  // namespace saccade
