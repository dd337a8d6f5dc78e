#include "runtime/execute/bindings.h"

#include <algorithm>
#include <numeric>

#include "runtime/graph/batch_data.h"
#include "runtime/graph/check.h"
#include "runtime/plan/cost.h"

namespace saccade {
inline namespace v0 {
namespace {

constexpr const char* kRun = "run: ";

int64_t length(const SetRows& set, int64_t s) {
  return set.offsets[static_cast<size_t>(s) + 1] - set.offsets[static_cast<size_t>(s)];
}

// Row in a padded matrix of token `row`, the c-th of sequence s.
int64_t padded_row(const SetRows& set, int64_t row, int64_t s, int64_t c, int64_t max_length) {
  return set.batch->slots.empty() ? s * max_length + c : set.batch->slots[static_cast<size_t>(row)];
}

// f(row, padded row) for every token of the set.
template <class F>
void for_each_token(const RunState& run, const SetRows& set, int64_t max_length, F f) {
  for (int64_t s = 0; s < run.sequences; ++s) {
    const int64_t begin = set.offsets[static_cast<size_t>(s)];
    for (int64_t c = 0; c < length(set, s); ++c) f(begin + c, padded_row(set, begin + c, s, c, max_length));
  }
}

// Messages are made on the way to a failure only: a run that goes well allocates nothing.
std::string rows_text(const RunState& run, RowSet set) {
  if (set.index == RowSet::kSequences) return "sequences";
  return set.index == 0 ? "tokens" : text("rows of '", run.plan->token_sets[static_cast<size_t>(set.index) - 1], "'");
}

// Checks that a matrix bound to a value of these rows has the right shape and memory. Returns max_length for padded rows, else 0.
int64_t check_matrix(const RunState& run, const char* what, const std::string& name, Rows kind, const ConstMatrix& matrix,
                     RowSet set, int64_t width) {
  require(kind == Rows::kPacked || kind == Rows::kPadded, kRun, what, " '", name,
          "': flat() is for attention weights, expected packed() or padded()");
  require(matrix.width == width, kRun, what, " '", name, "': expected width ", width, ", got ", matrix.width);
  require(matrix.stride == 0 || matrix.stride >= matrix.width, kRun, what, " '", name,
          "': expected a stride of at least the width ", matrix.width, ", got ", matrix.stride);
  require(matrix.rows >= 0, kRun, what, " '", name, "': rows must not be negative, got ", matrix.rows);
  require(product_fits({matrix.rows, std::max(matrix.stride, matrix.width), 8}), kRun, what, " '", name, "': ", matrix.rows,
          " rows of stride ", std::max(matrix.stride, matrix.width), " are larger than memory can be");
  require(matrix.data != nullptr || matrix.rows == 0, kRun, what, " '", name, "': null data for ", matrix.rows, " rows");
  const int64_t rows = set.index == RowSet::kSequences ? run.sequences : run.sets[static_cast<size_t>(set.index)].rows;
  if (kind == Rows::kPacked) {
    if (matrix.rows != rows) {
      fail(Code::kInvalidArgument, kRun, what, " '", name, "': expected ", rows, " rows, one for each of the ",
           rows_text(run, set), ", got ", matrix.rows);
    }
    return 0;
  }
  require(set.index != RowSet::kSequences, kRun, what, " '", name, "': has one row per sequence, expected packed()");
  const SetRows& tokens = run.sets[static_cast<size_t>(set.index)];
  if (run.sequences == 0) {
    require(matrix.rows == 0, kRun, what, " '", name, "': expected 0 padded rows for 0 sequences, got ", matrix.rows);
    return 0;
  }
  require(matrix.rows % run.sequences == 0, kRun, what, " '", name, "': expected padded rows in a multiple of ", run.sequences,
          " sequences, got ", matrix.rows);
  const int64_t max_length = matrix.rows / run.sequences;
  if (tokens.batch->mask_length >= 0) {
    require(max_length == tokens.batch->mask_length, kRun, what, " '", name, "': expected max_length ", tokens.batch->mask_length,
            " as the mask, got ", max_length, " (", matrix.rows, " rows / ", run.sequences, " sequences)");
  }
  require(max_length >= tokens.longest, kRun, what, " '", name, "': max_length ", max_length,
          " does not hold the longest sequence of ", tokens.longest, " tokens");
  return max_length;
}

// Port of a name; the error tells a name that the graph does not have.
PortState* find_port(const RunState& run, const char* what, const std::vector<PlanPort>& ports, std::vector<PortState>& states,
                     std::string_view name) {
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].name == name) return &states[i];
  }
  const auto& unused = run.plan->unused_inputs;
  if (&ports == &run.plan->inputs && std::find(unused.begin(), unused.end(), name) != unused.end()) return nullptr;
  fail(Code::kNotFound, kRun, "the plan has no ", what, " '", name, "'");
}

void bind_input(RunState& run, const PlanPort& port, PortState& state) {
  const Node& node = run.plan->nodes[static_cast<size_t>(port.node)];
  const ConstMatrix& matrix = state.input->rows.matrix;
  const int64_t max_length = check_matrix(run, "input", port.name, state.input->rows.rows, matrix, node.rows, node.width);
  if (port.ids) {
    require(matrix.dtype == Dtype::kI32 || matrix.dtype == Dtype::kI64, kRun, "input '", port.name,
            "': expected ids of dtype i32 or i64, got ", name(matrix.dtype));
  } else {
    require(matrix.dtype == Dtype::kF32, kRun, "input '", port.name, "': expected dtype f32, got ", name(matrix.dtype));
  }
  state.in_place = state.input->rows.rows == Rows::kPacked && !port.ids;
  state.index.clear();
  if (state.input->rows.rows != Rows::kPadded) return;
  const SetRows& set = run.sets[static_cast<size_t>(node.rows.index)];
  state.index.resize(static_cast<size_t>(set.rows));
  for_each_token(run, set, max_length, [&](int64_t row, int64_t padded) { state.index[static_cast<size_t>(row)] = padded; });
}

void bind_weights_output(RunState& run, const PlanPort& port, PortState& state) {
  const Step& step = run.plan->steps[static_cast<size_t>(port.step)];
  const SetRows& q = run.sets[static_cast<size_t>(run.plan->value(step.out).rows.set.index)];
  const SetRows& k = run.sets[static_cast<size_t>(run.plan->value(step.in[1]).rows.set.index)];
  require(state.output->rows.rows == Rows::kFlat, kRun, "output '", port.name, "': attention weights bind to flat() only");
  state.weights_begin.clear();
  int64_t total = 0;
  for (int64_t s = 0; s < run.sequences; ++s) {
    state.weights_begin.push_back(total);
    int64_t pairs = 0;
    const bool fits = multiply(length(q, s), length(k, s), pairs) &&
                      multiply(pairs, run.plan->node(step).attention.heads, pairs) &&
                      !__builtin_add_overflow(total, pairs, &total);
    require(fits, kRun, "output '", port.name, "': attention weights of this batch are larger than memory can be");
  }
  const Matrix& matrix = state.output->rows.matrix;
  require(matrix.width == total, kRun, "output '", port.name, "': expected ", total, " floats, got ", matrix.width);
  require(matrix.data != nullptr || total == 0, kRun, "output '", port.name, "': null data for ", total, " floats");
  state.in_place = true;
}

void bind_output(RunState& run, const PlanPort& port, PortState& state) {
  if (port.weights) return bind_weights_output(run, port, state);
  const PlanValue& value = run.plan->value(port.node);
  const int64_t max_length =
      check_matrix(run, "output", port.name, state.output->rows.rows, state.output->rows.matrix, value.rows.set, value.width);
  state.in_place = state.output->rows.rows == Rows::kPacked;
  state.index.clear();
  if (state.in_place) return;
  const SetRows& set = run.sets[static_cast<size_t>(value.rows.set.index)];
  state.index.assign(static_cast<size_t>(run.sequences * max_length), -1);
  for_each_token(run, set, max_length, [&](int64_t row, int64_t padded) { state.index[static_cast<size_t>(padded)] = row; });
}

// ---- outputs computed in place

struct Bytes {
  uintptr_t begin = 0, end = 0;
  bool meets(const Bytes& other) const { return begin < other.end && other.begin < end; }
};
Bytes bytes_of(const ConstMatrix& m) {
  if (m.rows == 0 || m.width == 0) return {};
  const uintptr_t begin = reinterpret_cast<uintptr_t>(m.data);
  const int64_t elements = (m.rows - 1) * std::max(m.stride, m.width) + m.width;
  return {begin, begin + static_cast<uintptr_t>(elements * size_of(m.dtype))};
}

// A value that is written into the caller's memory early must not lie over memory that is still to be read: an input, or another
// output that lives on. Then, and where the value has its place elsewhere already, it is copied at the end.
void choose_in_place(RunState& run) {
  const PlanData& plan = *run.plan;
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    PortState& state = run.outputs[i];
    const Bytes mine = bytes_of(state.output->rows.matrix);
    bool alone = true;
    for (const PortState& input : run.inputs) alone = alone && !mine.meets(bytes_of(input.input->rows.matrix));
    for (size_t j = 0; j < run.outputs.size(); ++j) {
      alone = alone && (j == i || !mine.meets(bytes_of(run.outputs[j].output->rows.matrix)));
    }
    if (plan.outputs[i].weights) {  // written early and in place, whatever else is bound
      require(alone, kRun, "output '", plan.outputs[i].name,
              "': attention weights need memory of their own, found that of another input or output");
      continue;
    }
    if (!state.in_place) continue;
    state.in_place = alone;
    for (const PlanPort& input : plan.inputs) state.in_place = state.in_place && input.node != plan.outputs[i].node;
    for (size_t j = 0; j < i; ++j) {
      if (run.outputs[j].in_place && plan.outputs[j].node == plan.outputs[i].node) state.in_place = false;
    }
    if (state.in_place) continue;
    state.index.resize(static_cast<size_t>(state.output->rows.matrix.rows));
    std::iota(state.index.begin(), state.index.end(), int64_t{0});
  }
}

// ---- ids and positions

void bind_lookup(RunState& run, const PlanLookup& lookup, std::vector<int32_t>& rows) {
  const int64_t count = run.row_count({lookup.set});
  rows.resize(static_cast<size_t>(count));
  if (lookup.ids == kNone) {
    std::fill(rows.begin(), rows.end(), static_cast<int32_t>(lookup.offset));
    return;
  }
  const auto set = [&](int64_t row, int64_t id) {
    int64_t sum = 0;
    if (__builtin_add_overflow(id, lookup.offset, &sum) || sum < 0 || sum >= lookup.rows) return false;
    rows[static_cast<size_t>(row)] = static_cast<int32_t>(sum);
    return true;
  };
  const auto out_of_range = [&](std::string_view what, int64_t row, int64_t id) {
    std::string place = text("row ", row);
    if (lookup.set.index != RowSet::kSequences) {
      const SetRows& tokens = run.sets[static_cast<size_t>(lookup.set.index)];
      const int64_t s = std::upper_bound(tokens.offsets.begin(), tokens.offsets.end(), row) - tokens.offsets.begin() - 1;
      place = text("sequence ", s, ", token ", row - tokens.offsets[static_cast<size_t>(s)]);
    }
    fail(Code::kOutOfRange, kRun, what, ": ", place, " is ", id, ", table '", lookup.name, "' has rows for ", -lookup.offset,
         " to ", lookup.rows - 1 - lookup.offset);
  };
  const Node& node = run.plan->nodes[static_cast<size_t>(lookup.ids)];
  if (node.op == Op::kPositions) {
    const std::vector<int32_t>& positions = run.sets[static_cast<size_t>(lookup.set.index)].batch->positions;
    for (int64_t row = 0; row < count; ++row) {
      const int64_t position = positions[static_cast<size_t>(row)];
      if (!set(row, position)) out_of_range("positions", row, position);
    }
    return;
  }
  const auto& ports = run.plan->inputs;
  const size_t port = static_cast<size_t>(
      std::find_if(ports.begin(), ports.end(), [&](const PlanPort& one) { return one.node == lookup.ids; }) - ports.begin());
  const PortState& state = run.inputs[port];
  const ConstMatrix& matrix = state.input->rows.matrix;
  const int64_t stride = std::max<int64_t>(1, matrix.stride);
  for (int64_t row = 0; row < count; ++row) {
    const int64_t at = (state.index.empty() ? row : state.index[static_cast<size_t>(row)]) * stride;
    const int64_t id =
        matrix.dtype == Dtype::kI32 ? static_cast<const int32_t*>(matrix.data)[at] : static_cast<const int64_t*>(matrix.data)[at];
    if (!set(row, id)) out_of_range(text("input '", ports[port].name, "'"), row, id);
  }
}

void check_rope_positions(const RunState& run) {
  for (const Step& step : run.plan->steps) {
    if (step.kind != StepKind::kRope) continue;
    const int64_t limit = run.plan->node(step).rope.max_positions;
    const std::vector<int32_t>& positions =
        run.sets[static_cast<size_t>(run.plan->value(step.out).rows.set.index)].batch->positions;
    for (size_t row = 0; row < positions.size(); ++row) {
      if (positions[row] < limit) continue;
      fail(Code::kOutOfRange, kRun, "rope: position ", positions[row], " of row ", row, ", expected less than max_positions ",
           limit);
    }
  }
}

void take_rows(const SetRows& set, int64_t sequences, bool last, std::vector<int64_t>& rows, std::vector<int32_t>& positions) {
  rows.resize(static_cast<size_t>(sequences));
  positions.resize(static_cast<size_t>(sequences));
  for (int64_t s = 0; s < sequences; ++s) {
    const bool empty = length(set, s) == 0;
    const int64_t row = empty ? -1 : last ? set.offsets[static_cast<size_t>(s) + 1] - 1 : set.offsets[static_cast<size_t>(s)];
    rows[static_cast<size_t>(s)] = row;
    positions[static_cast<size_t>(s)] = empty ? 0 : set.batch->positions[static_cast<size_t>(row)];
  }
}

}  // namespace

void bind_batch(RunState& run, const Batch& batch, BatchSize& size) {
  if (Status status = check_batch(batch, run.plan->token_sets); !status.ok()) throw Failure{std::move(status)};
  const BatchData& data = batch.data();
  run.sequences = batch.sequences();
  run.sets.resize(run.plan->token_sets.size() + 1);
  size.sequences = run.sequences;
  size.tokens.resize(run.sets.size());
  size.longest.resize(run.sets.size());
  for (size_t i = 0; i < run.sets.size(); ++i) {
    SetRows& set = run.sets[i];
    set.batch = &data.sets[i];
    set.offsets = data.sets[i].offsets;
    set.rows = set.offsets.back();
    set.longest = data.sets[i].longest;
    size.tokens[i] = set.rows;
    size.longest[i] = set.longest;
    if (run.plan->takes_rows(Take::kFirst, i)) take_rows(set, run.sequences, false, set.first, set.first_positions);
    if (run.plan->takes_rows(Take::kLast, i)) take_rows(set, run.sequences, true, set.last, set.last_positions);
  }
}

void bind_ports(RunState& run, std::span<const Input> inputs, std::span<const Output> outputs) {
  const PlanData& plan = *run.plan;
  for (PortState& state : run.inputs) state.input = nullptr;
  for (PortState& state : run.outputs) state.output = nullptr;
  for (const Input& input : inputs) {
    PortState* state = find_port(run, "input", plan.inputs, run.inputs, input.name);
    if (state == nullptr) continue;
    require(state->input == nullptr, kRun, "input '", input.name, "' is bound twice");
    state->input = &input;
  }
  for (const Output& output : outputs) {
    PortState* state = find_port(run, "output", plan.outputs, run.outputs, output.name);
    require(state->output == nullptr, kRun, "output '", output.name, "' is bound twice");
    state->output = &output;
  }
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    require(run.inputs[i].input != nullptr, kRun, "input '", plan.inputs[i].name, "' is not bound");
    bind_input(run, plan.inputs[i], run.inputs[i]);
  }
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    require(run.outputs[i].output != nullptr, kRun, "output '", plan.outputs[i].name, "' is not bound");
    bind_output(run, plan.outputs[i], run.outputs[i]);
  }
  choose_in_place(run);
  for (size_t i = 0; i < plan.lookups.size(); ++i) bind_lookup(run, plan.lookups[i], run.lookups[i]);
  check_rope_positions(run);
}

void place_values(RunState& run, float* arena) {
  const PlanData& plan = *run.plan;
  run.block_begin.resize(plan.block_width.size());
  float* at = arena;
  const auto capacity = [&](size_t block) {
    return row_capacity(block < run.sets.size() ? run.sets[block].rows : run.sequences);
  };
  for (size_t block = 0; block < plan.block_width.size(); ++block) {
    run.block_begin[block] = at;
    at += plan.block_width[block] * capacity(block);
  }
  run.scratch = at;
  for (size_t i = 0; i < plan.values.size(); ++i) {
    const PlanValue& value = plan.values[i];
    if (value.offset == kNone) continue;
    if (value.chain != kNone) {  // where all workers find it when the chain runs step by step
      run.values[i] = {run.scratch + value.offset * row_capacity(run.row_count(value.rows)), static_cast<size_t>(value.stride)};
      continue;
    }
    const size_t block = static_cast<size_t>(plan.block_of(value.rows));
    run.values[i] = {run.block_begin[block] + value.offset * capacity(block), static_cast<size_t>(value.stride)};
  }
  const auto stride_of = [](int64_t stride, int64_t width) { return static_cast<size_t>(stride == 0 ? width : stride); };
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    if (!run.inputs[i].in_place) continue;
    const ConstMatrix& matrix = run.inputs[i].input->rows.matrix;
    // Never written: the plan shares no place with an input, and the input step does nothing.
    float* data = const_cast<float*>(static_cast<const float*>(matrix.data));
    run.values[static_cast<size_t>(plan.inputs[i].node)] = {data, stride_of(matrix.stride, matrix.width)};
  }
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    if (!run.outputs[i].in_place || plan.outputs[i].weights) continue;
    const Matrix& matrix = run.outputs[i].output->rows.matrix;
    run.values[static_cast<size_t>(plan.outputs[i].node)] = {matrix.data, stride_of(matrix.stride, matrix.width)};
  }
  for (size_t i = plan.values.size(); i < run.values.size(); ++i) run.values[i] = run.values[i - plan.values.size()];
}

}  // namespace v0
}  // namespace saccade
