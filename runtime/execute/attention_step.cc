// Attention steps: for each sequence and key/value head of a task, keys and values are packed into the worker's scratch, then
// every query head that reads them goes over its rows.
#include <algorithm>

#include "runtime/execute/steps.h"

namespace saccade {
inline namespace v0 {
namespace {

// The options of the graph's attention for one head of one sequence.
kernels::AttentionArgs head_args(const AttentionData& data, int64_t head, int64_t queries, int64_t keys) {
  kernels::AttentionArgs args;
  args.keys = static_cast<size_t>(keys);
  args.head_dim = static_cast<size_t>(data.head_dim);
  args.value_dim = static_cast<size_t>(data.value_dim);
  args.scale = data.scale;
  args.softcap = data.softcap;
  if (data.causal == Causal::kBottomRight) args.position = keys - queries;
  if (data.window_left) args.left = std::min(*data.window_left, kernels::kUnlimited);
  if (data.window_right) args.right = std::min(*data.window_right, kernels::kUnlimited);
  if (data.causal != Causal::kNone) args.right = std::min<int64_t>(args.right, 0);
  if (!data.alibi_slopes.empty()) args.alibi_slope = data.alibi_slopes[static_cast<size_t>(head)];
  if (!data.relative_bias.empty()) {
    args.relative_bias = data.relative_bias.data() + head * (2 * data.relative_radius + 1);
    args.relative_radius = data.relative_radius;
  }
  return args;
}

}  // namespace

Status attention_tile(const WorkerRun& worker, const Step& step, const AttentionTask& task) {
  const RunState& run = *worker.run;
  const PlanData& plan = *run.plan;
  float* const scratch = worker.scratch;
  const kernels::KernelTable& table = *plan.table;
  const AttentionData& data = plan.node(step).attention;
  const PlanRows query_rows = plan.value(step.out).rows;
  const SetRows& q_set = run.sets[static_cast<size_t>(query_rows.set.index)];
  const SetRows& k_set = run.sets[static_cast<size_t>(plan.value(step.in[1]).rows.set.index)];
  const int32_t q = step.in[0], k = step.in[1], v = step.in[2];
  const int64_t group = data.heads / data.kv_heads;
  float* weights = nullptr;
  const PortState* port = step.port == kNone ? nullptr : &run.outputs[static_cast<size_t>(step.port)];
  if (port != nullptr) weights = port->output->rows.matrix.data;

  for (int64_t unit = task.unit_begin; unit < task.unit_end; ++unit) {
    const int64_t s = unit / data.kv_heads, kv_head = unit % data.kv_heads;
    const int64_t q_begin = q_set.offsets[static_cast<size_t>(s)], queries = q_set.offsets[static_cast<size_t>(s) + 1] - q_begin;
    const int64_t k_begin = k_set.offsets[static_cast<size_t>(s)], keys = k_set.offsets[static_cast<size_t>(s) + 1] - k_begin;
    // Rows of this sequence to compute, and the row of the value that holds row i.
    int64_t begin = task.row_begin, end = std::min(task.row_end, queries);
    int64_t first_row = q_begin;
    const size_t q_stride = worker.stride(q), out_stride = worker.stride(step.out);
    if (query_rows.per_sequence()) {
      // The value has one row for the sequence, whatever its number within it: strides are 0 so that every row number finds it. A
      // sequence without tokens gets a row of zeros, from no keys.
      const int64_t i = query_rows.take == Take::kFirst ? 0 : std::max<int64_t>(0, queries - 1);
      begin = i, end = i + 1;
      first_row = s;
    }
    if (begin >= end) continue;
    const size_t pack_floats = kernels::attention_pack_floats(
        table, static_cast<size_t>(keys), static_cast<size_t>(data.head_dim), static_cast<size_t>(data.value_dim));
    float* row_scratch = scratch + kernels::round_up(pack_floats, 16);
    table.attention_pack({.k = worker.row(k, k_begin) + kv_head * data.head_dim,
                          .k_stride = worker.stride(k),
                          .v = worker.row(v, k_begin) + kv_head * data.value_dim,
                          .v_stride = worker.stride(v),
                          .keys = static_cast<size_t>(keys),
                          .head_dim = static_cast<size_t>(data.head_dim),
                          .value_dim = static_cast<size_t>(data.value_dim),
                          .scratch = scratch});
    for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      kernels::AttentionArgs args = head_args(data, head, queries, keys);
      args.q = worker.row(q, first_row) + head * data.head_dim;
      args.q_stride = query_rows.per_sequence() ? 0 : q_stride;
      args.out = worker.row(step.out, first_row) + head * data.value_dim;
      args.out_stride = query_rows.per_sequence() ? 0 : out_stride;
      args.scratch = scratch;
      args.row_scratch = row_scratch;
      if (weights != nullptr) {
        args.weights = weights + port->weights_begin[static_cast<size_t>(s)] + head * queries * keys;
        args.weights_stride = static_cast<size_t>(keys);
      }
      const auto rows = static_cast<int64_t>(kernels::attention_call_rows(table, static_cast<size_t>(keys)));
      for (int64_t row = begin; row < end; row += rows) {
        if (run.stopped()) return {Code::kCancelled, "stopped"};
        args.row_begin = static_cast<size_t>(row);
        args.row_end = static_cast<size_t>(std::min(end, row + rows));
        table.attention(args);
      }
    }
  }
  return {};
}

}  // namespace v0
}  // namespace saccade
