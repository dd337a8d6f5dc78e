// What Plan::compile makes of a graph: values, and the steps that compute them in order. Start reading here, then plan.cc (the
// order of the passes), then execute/steps.cc (what a step does).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "runtime/graph/graph_data.h"
#include "saccade/plan.h"

namespace saccade {
inline namespace v0 {

inline constexpr int32_t kNone = -1;

// Rows of a plan value: all of a row set, or one per sequence of a token set, its first or its last token (see needed_rows.cc).
enum class Take : uint8_t { kAll, kFirst, kLast };
struct PlanRows {
  RowSet set;
  Take take = Take::kAll;
  bool per_sequence() const { return take != Take::kAll || set.index == RowSet::kSequences; }
  friend bool operator==(PlanRows, PlanRows) = default;
};

// One matrix, [rows, width]. Values are numbered as the graph's nodes; those that passes add come behind.
struct PlanValue {
  int64_t width = 0;
  PlanRows rows;
  // Place in the arena (memory_plan.cc): row r lies at floats offset * R + r * stride of its block, R the row capacity of the
  // block.
  int64_t stride = 0;
  int64_t offset = kNone;
  int32_t chain = kNone;  // the chain whose steps alone touch it: its block is then that chain's scratch
};

enum class StepKind : uint8_t {
  kInput,      // binding -> value: nothing where rows are packed, else gathered
  kEmbedding,  // ids -> sum of table rows
  kMatmul,     // one operand times the weights of `sections`
  kMap,        // activation by itself
  kGate,       // f(gate) * up
  kAdd,
  kNorm,
  kL2Normalize,
  kRope,
  kAttention,  // q, k, v
  kPool,
  kSelect,  // first or last row of each sequence
  kOutput,  // value -> binding: nothing where the value was computed there, else copied or scattered
};
const char* step_kind_name(StepKind kind);

struct PackedWeight;  // weight_store.h

// A weight of a matmul step and what happens to its product before it is stored:
// out = activation(in W + bias) + residual.
struct Section {
  int32_t node = kNone;  // the linear: weight and bias
  kernels::Unary activation = kernels::Unary::kIdentity;
  int32_t residual = kNone;  // value
  int32_t out = kNone;       // value
  const PackedWeight* packed = nullptr;
  std::shared_ptr<const PreparedLinear> prepared;  // instead of `packed` with a linear backend
};

struct Step {
  StepKind kind = StepKind::kInput;
  int32_t node = kNone;     // the graph's op with its parameters
  std::vector<int32_t> in;  // values read (a section's residual aside)
  int32_t out = kNone;      // value written; matmul: see sections
  std::vector<Section> sections;
  // A norm or l2_normalize (node) that runs on each row as soon as it is there; then_out == the row's value where nobody else
  // reads it.
  int32_t then = kNone;
  int32_t then_out = kNone;
  int32_t port = kNone;     // input: index in PlanData::inputs; output, attention with weights: index in PlanData::outputs
  int32_t lookups = kNone;  // embedding: first of its tables in PlanData::lookups; one per lookup of the node
  int32_t work = kNone;     // attention: index in PlanData::attention_works
  int32_t chain = kNone;    // index in PlanData::chains
  int32_t rope_table = kNone;
  std::string name;  // "attention", "linear x3", "linear + add + layer_norm"
};

struct PlanPort {
  std::string name;
  int32_t node = kNone;  // inputs: input or ids node; outputs: value, or the attention_weights node
  bool ids = false;      // inputs
  bool weights = false;  // outputs: attention weights
  int32_t step = kNone;  // outputs with weights: the attention step
};

// Rows of one table that an embedding step reads: row number ids[r] + offset, checked against [0, rows) before a run writes
// anything.
struct PlanLookup {
  int32_t ids = kNone;  // node of kind ids or positions, or none: row `offset` for all
  int64_t offset = 0;
  int64_t rows = 0;
  int64_t width = 0;
  RowSet set;
  const float* table = nullptr;
  int64_t stride = 0;
  std::string name;  // of the table, for messages
};

// cos and sin of all positions: [max_positions, rotary_dim / 2] each.
struct RopeTable {
  RopeOptions options;
  std::vector<float> cos, sin;
};

// What decides how an attention step is cut into tasks; equal steps share their task list.
struct AttentionWork {
  PlanRows queries;
  RowSet keys;
  int64_t heads = 1, kv_heads = 1, head_dim = 0, value_dim = 0;
  friend bool operator==(const AttentionWork&, const AttentionWork&) = default;
};

// Most rows of a chain that a task runs at a time.
inline constexpr int64_t kChainRows = 96;

// Neighbouring steps that a task may run one after the other on a block of rows (find_chains.cc).
struct Chain {
  int32_t first = 0, count = 0;  // steps
  PlanRows rows;
  std::vector<int32_t> locals;  // values that only these steps touch
  int64_t width = 0;            // floats per row of the locals' block
};

struct PlanData {
  std::string isa;
  const kernels::KernelTable* table = nullptr;
  int64_t cache_bytes = 0;
  std::shared_ptr<LinearBackend> backend;

  std::vector<Node> nodes;  // copied from the graph, weights without owners
  std::vector<std::string> token_sets;
  std::vector<PlanValue> values;
  std::vector<Step> steps;
  std::vector<PlanPort> inputs, outputs;
  std::vector<std::string> unused_inputs;  // of the graph, not needed for these outputs; may be bound all the same
  std::vector<PlanLookup> lookups;
  std::vector<RopeTable> rope_tables;
  std::vector<AttentionWork> attention_works;
  std::vector<Chain> chains;

  // Arena: one block for each token set, then one for the sequences. Floats per row of each.
  std::vector<int64_t> block_width;
  int64_t weight_bytes = 0;

  std::shared_ptr<WeightStore> store;

  int32_t block_of(PlanRows rows) const {
    return rows.per_sequence() ? static_cast<int32_t>(token_sets.size()) + 1 : rows.set.index;
  }
  // Whether some value has the first (or last) rows of that token set.
  bool takes_rows(Take take, size_t set) const {
    for (const PlanValue& value : values) {
      if (value.rows.take == take && static_cast<size_t>(value.rows.set.index) == set) return true;
    }
    return false;
  }
  const Node& node(const Step& step) const { return nodes[static_cast<size_t>(step.node)]; }
  const PlanValue& value(int32_t id) const { return values[static_cast<size_t>(id)]; }
};

// The value whose rows a step computes first: what `then` reads.
inline int32_t main_out(const Step& step) { return step.kind == StepKind::kMatmul ? step.sections[0].out : step.out; }

// f(value) for every value that the step reads, or writes.
template <class F>
void for_each_read(const Step& step, F f) {
  for (int32_t value : step.in) f(value);
  for (const Section& section : step.sections) {
    if (section.residual != kNone) f(section.residual);
  }
}
template <class F>
void for_each_write(const Step& step, F f) {
  if (step.out != kNone) f(step.out);
  for (const Section& section : step.sections) f(section.out);
  if (step.then_out != kNone && step.then_out != main_out(step)) f(step.then_out);
}

// Rows of each token set and sequences of one batch, as far as they decide memory and work.
struct BatchSize {
  std::vector<int64_t> tokens, longest;  // by set
  int64_t sequences = 0;
};

}  // namespace v0
}  // namespace saccade
