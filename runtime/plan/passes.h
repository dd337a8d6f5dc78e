// The passes of Plan::compile, in the order in which plan.cc calls them. Each file holds one rewrite of PlanData::steps; none
// of them changes a bit of the results.
#pragma once

#include <span>

#include "runtime/plan/plan_data.h"

namespace saccade {
inline namespace v0 {

// lower.cc: one step for each node that the chosen outputs need (prune.cc).
void lower(PlanData& plan, const std::vector<bool>& needed);
// prune.cc: nodes that `outputs` depend on.
std::vector<bool> needed_nodes(const std::vector<Node>& nodes, std::span<const int32_t> outputs);

void needed_rows(PlanData& plan);       // first/last pooling: what only feeds it is computed for those rows alone
void fuse_activations(PlanData& plan);  // linear, then activation: in the epilogue
void fuse_adds(PlanData& plan);         // linear, then add: residual in the epilogue
void fuse_row_ops(PlanData& plan);      // linear, embedding or pool, then norm or l2_normalize: row by row in the same task
void merge_linears(PlanData& plan);     // linears of the same operand: sections of one step
void find_chains(PlanData& plan);       // neighbouring steps that one task runs on a block of rows
void plan_memory(PlanData& plan);       // places of all values in the arena

}  // namespace v0
}  // namespace saccade
