// From the caller's arguments to a RunState: everything is checked, and nothing of the caller's is written.
#pragma once

#include <span>

#include "runtime/execute/run_state.h"
#include "saccade/batch.h"

namespace saccade {
inline namespace v0 {

// Rows of the batch: sets, sequences, tables of taken rows. Returns what memory depends on in `size`.
void bind_batch(RunState& run, const Batch& batch, BatchSize& size);
// Matches bindings with the plan's ports and checks them; converts ids and checks them and the positions in use.
void bind_ports(RunState& run, std::span<const Input> inputs, std::span<const Output> outputs);
// Places of all values, in the arena or in the caller's memory.
void place_values(RunState& run, float* arena);

}  // namespace v0
}  // namespace saccade
