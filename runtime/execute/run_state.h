// What a context knows while it runs: rows of every set, where every value lies, tables of indices, and how steps are cut into
// tiles. All of it is filled by the calling thread before any worker starts; a worker writes nothing but its own places of a
// chain's values. Vectors keep their capacity from run to run.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/plan/plan_data.h"
#include "saccade/context.h"

namespace saccade {
inline namespace v0 {

struct TokenRows;  // graph/batch_data.h

// A token set in this batch.
struct SetRows {
  const TokenRows* batch = nullptr;
  int64_t rows = 0;
  int64_t longest = 0;
  std::span<const int64_t> offsets;
  // One for each sequence, where the plan needs rows taken from this set: row in the set or -1 for a sequence without tokens, and
  // that row's position.
  std::vector<int64_t> first, last;
  std::vector<int32_t> first_positions, last_positions;
};

// Row r of a value lies at data + (r - first_row) * stride: in the arena, in the caller's memory where rows are bound as they
// are, or, first_row and what follows, in the scratch of a worker that is at a chain.
struct Place {
  float* data = nullptr;
  size_t stride = 0;
  int64_t first_row = 0;
};

// A binding of this run. `index` has one entry for each row that is written: the row to read, or -1 for zeros.
struct PortState {
  const Input* input = nullptr;
  const Output* output = nullptr;
  bool in_place = false;               // the value itself lies in the caller's memory
  std::vector<int64_t> index;          // padded: of packed rows (inputs) or of padded rows (outputs)
  std::vector<int64_t> weights_begin;  // attention weights: first float of each sequence
};

// Part of an attention step: units [unit_begin, unit_end), unit = sequence * kv_heads + kv_head, and of each the query rows
// [row_begin, row_end) of its sequence (less where the sequence is shorter).
struct AttentionTask {
  int64_t unit_begin = 0, unit_end = 0;
  int64_t row_begin = 0, row_end = 0;
};

// One step, one half of a step, or a chain of steps, between two barriers: `tiles` independent pieces of work.
struct Phase {
  int32_t step = 0;
  int32_t chain = kNone;   // then all its steps, `step` is the first of them
  bool then_only = false;  // matmul: the row op of a step whose columns were split
  int64_t tiles = 0;
  int64_t rows = 0;     // rows of the step
  int64_t block = 1;    // rows of a tile
  int64_t splits = 1;   // tiles side by side in a block of rows
  int64_t workers = 1;  // that share these: they take neighbouring ones, so that what one asks for ahead is what it reads next
};

struct RunState {
  const PlanData* plan = nullptr;
  int64_t sequences = 0;
  std::vector<SetRows> sets;
  std::vector<Place> values;  // of worker 0, then of the others: they differ while a chain runs
  std::vector<PortState> inputs, outputs;
  std::vector<std::vector<int32_t>> lookups;                // row numbers of PlanData::lookups
  std::vector<std::vector<AttentionTask>> attention_tasks;  // of PlanData::attention_works
  std::vector<Phase> phases;
  std::vector<float*> block_begin;  // of the arena's blocks
  float* scratch = nullptr;         // of worker 0; the others' follow
  int64_t scratch_floats = 0;
  const std::atomic<bool>* stop = nullptr;
  Trace* trace = nullptr;

  bool stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
  int64_t row_count(PlanRows rows) const {
    return rows.per_sequence() ? sequences : sets[static_cast<size_t>(rows.set.index)].rows;
  }
  // Row of the set that a value with one row per sequence has for a sequence, or -1.
  std::span<const int64_t> taken_rows(PlanRows rows) const {
    const SetRows& set = sets[static_cast<size_t>(rows.set.index)];
    return rows.take == Take::kFirst ? set.first : set.last;
  }
};

// What a task sees: the run, and where its worker finds the values.
struct WorkerRun {
  const RunState* run;
  const PlanData* plan;
  std::span<Place> places;
  float* scratch;

  WorkerRun(RunState& state, int worker)
      : run(&state),
        plan(state.plan),
        places(std::span(state.values).subspan(static_cast<size_t>(worker) * plan->values.size(), plan->values.size())),
        scratch(state.scratch + worker * state.scratch_floats) {}

  size_t stride(int32_t value) const { return places[static_cast<size_t>(value)].stride; }
  float* row(int32_t value, int64_t row) const {
    const Place& place = places[static_cast<size_t>(value)];
    return place.data + static_cast<size_t>(row - place.first_row) * place.stride;
  }
};

}  // namespace v0
}  // namespace saccade
