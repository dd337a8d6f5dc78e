// Memory and work of a batch, before it runs.
#pragma once

#include "runtime/plan/plan_data.h"

namespace saccade {
inline namespace v0 {

// Rows of a block's capacity. Odd, so that values of one block do not all start at the same place within a page: a load would
// wait for every earlier store with equal low 12 address bits.
inline int64_t row_capacity(int64_t rows) { return rows | 1; }

// The same for the block of a chain's own values, which has the rows of one task. (When a chain does not run as one, all tasks
// share the scratch of all workers as one such block: rows are few then, see cut_chain in geometry.cc.)
inline int64_t chain_capacity(int64_t rows) { return row_capacity(rows < kChainRows ? rows : kChainRows); }

// No batch has more rows: with that, no product of a plan's bytes overflows.
inline constexpr int64_t kMostRows = int64_t{1} << 40;

// Floats of the values' blocks.
int64_t block_floats(const PlanData& plan, const BatchSize& size);
// Floats of one worker's scratch: packed keys and values of one head of the longest sequence, and score rows; or a block of rows
// of the widest chain.
int64_t scratch_floats(const PlanData& plan, const BatchSize& size);
// Arena of a context: blocks, then the scratch of each worker.
int64_t arena_bytes(const PlanData& plan, const BatchSize& size, int threads);
// Every token set with so many tokens; the longest sequence as long as it can be.
BatchSize worst_case(const PlanData& plan, int64_t tokens, int64_t sequences);

// Floating-point operations of a step: 2 rows in out for each weight; 2 (head_dim + value_dim) for each head and each pair of
// query and key that causal and window limits allow, of one sequence.
double matmul_flops(const PlanData& plan, const Step& step, int64_t rows);
double attention_flops(const PlanData& plan, const Step& step, int64_t queries, int64_t keys);

}  // namespace v0
}  // namespace saccade
