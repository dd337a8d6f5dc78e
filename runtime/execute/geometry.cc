// How steps are cut into tiles for this batch and this many workers. Nothing here changes a bit of any result: a row of a matmul
// or of attention does not depend on the rows and columns that are computed with it.
#include <algorithm>

#include "runtime/execute/steps.h"
#include "runtime/plan/cost.h"

namespace saccade {
inline namespace v0 {
namespace {

// Tiles that each worker should find, so that the one that comes last is late by a small part of the step.
constexpr int64_t kTilesPerWorker = 4;
// Rows of a matmul tile below which reading the weights again for every block costs more than it brings: at 48 rows a block of
// weights is used 48 times (96 FLOPs for each 4 bytes), which the third-level cache of any machine feeds.
constexpr int64_t kFewRows = 48;
// Above it a row op finds its rows no longer in the second-level cache, and a stop flag is seen late. (The matmul itself does not
// care: 24 to 384 rows were within 2 % of each other at 384 columns on a Zen 3.)
constexpr int64_t kManyRows = 192;
// Columns of a tile, so that its rows are worth reading; where workers would go without, fewer.
constexpr int64_t kFewColumns = 64;
// Floats that a tile of a light step touches: some 10 microseconds.
constexpr int64_t kRowStepFloats = int64_t{32} << 10;
// Most and least work of an attention task, in multiply-adds: some 20 microseconds of one core with AVX2, a hundred times the
// cost of fetching it, and about one.
constexpr int64_t kTaskWork = int64_t{1} << 20, kLeastTaskWork = kTaskWork / 16;
// Rows into which queries are cut: less would pack keys and values too often.
constexpr int64_t kChunkRows = 128;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Rows of a block whose operand stays in half of the second-level cache while the weights pass.
int64_t cached_rows(const PlanData& plan, int64_t in) {
  const int64_t row_bytes = std::min<int64_t>(in, kernels::kOneChunkK) * static_cast<int64_t>(sizeof(float));
  return std::clamp<int64_t>(plan.cache_bytes / 2 / row_bytes, kManyRows / 2, kManyRows);
}

void cut_matmul(const RunState& run, const Step& step, Phase phase, int threads, std::vector<Phase>& phases) {
  const PlanData& plan = *run.plan;
  const int64_t nr = static_cast<int64_t>(plan.table->nr);
  int64_t panels = 0;
  for (const Section& section : step.sections) {
    panels += ceil_div(plan.nodes[static_cast<size_t>(section.node)].weight->out, nr);
  }
  // As many blocks of rows as keep every worker busy, if they do not become too thin.
  const int64_t most = cached_rows(plan, plan.value(step.in[0]).width);
  int64_t blocks = ceil_div(phase.rows, most);
  if (threads > 1 && blocks < kTilesPerWorker * threads) {
    const int64_t rounds = std::clamp<int64_t>(phase.rows / (kFewRows * threads), 0, kTilesPerWorker);
    blocks = std::max(blocks, rounds * threads);
  }
  phase.block = ceil_div(phase.rows, blocks);
  blocks = ceil_div(phase.rows, phase.block);
  if (blocks < threads && plan.backend == nullptr) {
    const int64_t most_splits = std::max(std::min<int64_t>(threads, panels), panels * nr / kFewColumns);
    phase.splits = std::min(ceil_div(kTilesPerWorker * threads, blocks), most_splits);
    if (phase.splits > threads) {
      phase.splits -= phase.splits % threads;  // as many for each
      phase.workers = threads;
    }
  }
  phase.tiles = blocks * phase.splits;
  phases.push_back(phase);
  if (step.then == kNone || phase.splits == 1) return;
  phase.then_only = true;
  phase.splits = phase.workers = 1;
  phase.block = std::max<int64_t>(1, ceil_div(phase.rows, threads));
  phase.tiles = ceil_div(phase.rows, phase.block);
  phases.push_back(phase);
}

// A chain as one phase: its tasks are blocks of rows. False when there are too few rows to give every worker some; its steps are
// then cut one by one, along columns too.
bool cut_chain(const RunState& run, const Chain& chain, Phase phase, int threads, std::vector<Phase>& phases) {
  if (threads > 1 && phase.rows < kFewRows * threads) return false;
  const int64_t rounds = std::clamp<int64_t>(phase.rows / (kFewRows * threads), 1, kTilesPerWorker);
  // Half as many rows where threads share: the one that comes last is late by less.
  int64_t blocks = ceil_div(phase.rows, threads > 1 ? kChainRows / 2 : kChainRows);
  if (threads > 1) blocks = ceil_div(std::max(blocks, rounds * threads), threads) * threads;  // as many for each
  phase.block = ceil_div(phase.rows, blocks);
  phase.tiles = ceil_div(phase.rows, phase.block);
  phase.chain = run.plan->steps[static_cast<size_t>(chain.first)].chain;
  phases.push_back(phase);
  return true;
}

void cut_rows(const RunState& run, const Step& step, Phase& phase, int threads) {
  const int32_t value = step.kind == StepKind::kOutput ? step.in[0] : step.out;
  int64_t floats = run.plan->value(value).width;  // of a row
  if (step.kind == StepKind::kPool && run.sequences > 0) {
    floats *= 1 + run.row_count(run.plan->value(step.in[0]).rows) / run.sequences;
  }
  const int64_t light = std::max<int64_t>(1, kRowStepFloats / floats);
  phase.block = std::min(light, std::max<int64_t>(1, ceil_div(phase.rows, threads)));
  phase.tiles = ceil_div(phase.rows, phase.block);
}

// Tasks of all attention steps that share a work: short units together, long ones cut by query rows.
void cut_attention(const RunState& run, const AttentionWork& work, int threads, std::vector<AttentionTask>& tasks) {
  tasks.clear();
  const SetRows& q_set = run.sets[static_cast<size_t>(work.queries.set.index)];
  const SetRows& k_set = run.sets[static_cast<size_t>(work.keys.index)];
  const int64_t units = run.sequences * work.kv_heads, group = work.heads / work.kv_heads;
  const auto length = [](const SetRows& set, int64_t s) {
    return set.offsets[static_cast<size_t>(s) + 1] - set.offsets[static_cast<size_t>(s)];
  };
  // Pieces of a long unit, so that few units still keep all workers busy.
  const int64_t pieces = units > 0 && threads > 1 ? ceil_div(kTilesPerWorker * threads, units) : 1;
  const auto queries_of = [&](int64_t s) { return work.queries.per_sequence() ? 1 : length(q_set, s); };
  // Of one kv_head. Packing moves every key once: counted as 8 rows of queries.
  const auto work_of = [&](int64_t s) {
    return (queries_of(s) * group + 8) * length(k_set, s) * (work.head_dim + work.value_dim);
  };
  int64_t task_work = kTaskWork;
  if (threads > 1) {
    int64_t all = 0;
    for (int64_t s = 0; s < run.sequences; ++s) all += work_of(s) * work.kv_heads;
    task_work = std::clamp(all / (kTilesPerWorker * threads), kLeastTaskWork, kTaskWork);
    // Two neighbours hold more than task_work, so it being below kTaskWork makes no more tasks of short units than these: a small
    // batch after a large one must not allocate.
    tasks.reserve(static_cast<size_t>(2 * kTilesPerWorker * threads + 1));
  }
  int64_t gathered = 0;  // work of the task that is being put together
  for (int64_t unit = 0; unit < units; ++unit) {
    const int64_t s = unit / work.kv_heads, queries = queries_of(s), unit_work = work_of(s);
    if (pieces > 1 && queries > kChunkRows) {
      const int64_t tile = static_cast<int64_t>(run.plan->table->query_tile);
      const int64_t rows = ceil_div(std::max(kChunkRows, ceil_div(queries, pieces)), tile) * tile;
      for (int64_t row = 0; row < queries; row += rows) tasks.push_back({unit, unit + 1, row, std::min(queries, row + rows)});
      gathered = task_work;  // what comes next starts a task
      continue;
    }
    if (tasks.empty() || gathered + unit_work > task_work) {
      tasks.push_back({unit, unit, 0, INT64_MAX});
      gathered = 0;
    }
    tasks.back().unit_end = unit + 1;
    gathered += unit_work;
  }
}

// Bindings that need no copy: the value lies in the caller's memory.
bool nothing_to_do(const RunState& run, const Step& step) {
  if (step.kind == StepKind::kInput) return run.inputs[static_cast<size_t>(step.port)].in_place;
  if (step.kind == StepKind::kOutput) return run.outputs[static_cast<size_t>(step.port)].in_place;
  return false;
}

// Whether the run is over before other workers would have helped: waking one takes up to 50 microseconds, and a run has some 50
// barriers of about one. One core with AVX2 does 5 MFLOP in that time.
bool is_small(const RunState& run) {
  constexpr double kSmallRunFlops = 5e6;
  double flops = 0;
  for (const Step& step : run.plan->steps) {
    if (step.kind == StepKind::kMatmul) {
      flops += matmul_flops(*run.plan, step, run.row_count(run.plan->value(main_out(step)).rows));
    } else if (step.kind == StepKind::kAttention && run.sequences > 0) {
      const int64_t queries = run.row_count(run.plan->value(step.out).rows),
                    keys = run.row_count(run.plan->value(step.in[1]).rows);
      const AttentionData& data = run.plan->node(step).attention;
      flops += 2.0 * static_cast<double>(queries) * static_cast<double>(keys) / static_cast<double>(run.sequences) *
               static_cast<double>(data.heads * (data.head_dim + data.value_dim));
    }
  }
  return flops < kSmallRunFlops;
}

int64_t rows_of(const RunState& run, const Step& step) {
  if (step.kind == StepKind::kOutput) return static_cast<int64_t>(run.outputs[static_cast<size_t>(step.port)].index.size());
  return run.row_count(run.plan->value(main_out(step)).rows);
}

}  // namespace

int plan_phases(RunState& run, int threads) {
  const PlanData& plan = *run.plan;
  if (is_small(run)) threads = 1;
  run.attention_tasks.resize(plan.attention_works.size());
  for (size_t i = 0; i < plan.attention_works.size(); ++i) {
    cut_attention(run, plan.attention_works[i], threads, run.attention_tasks[i]);
  }
  run.phases.clear();
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (nothing_to_do(run, step)) continue;
    Phase phase;
    phase.step = static_cast<int32_t>(i);
    phase.rows = rows_of(run, step);
    if (phase.rows == 0) continue;
    if (step.chain != kNone) {
      const Chain& chain = plan.chains[static_cast<size_t>(step.chain)];
      if (chain.first == phase.step && cut_chain(run, chain, phase, threads, run.phases)) {
        i += static_cast<size_t>(chain.count) - 1;
        continue;
      }
    }
    if (step.kind == StepKind::kMatmul) {
      cut_matmul(run, step, phase, threads, run.phases);
      continue;
    }
    if (step.kind == StepKind::kAttention) {
      phase.tiles = static_cast<int64_t>(run.attention_tasks[static_cast<size_t>(step.work)].size());
    } else {
      cut_rows(run, step, phase, threads);
    }
    run.phases.push_back(phase);
  }
  return threads;
}

}  // namespace v0
}  // namespace saccade
