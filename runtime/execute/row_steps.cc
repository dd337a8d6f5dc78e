// Steps that call one kernel for a block of rows.
#include "runtime/execute/steps.h"
#include "runtime/graph/batch_data.h"
#include "runtime/plan/rewrite.h"

namespace saccade {
inline namespace v0 {
namespace {

// Block of rows of a value: the fields that every row kernel has.
struct Block {
  Block(const RunState& run, int32_t value, RowRange rows)
      : stride(run.stride(value)), data(run.write(value) + static_cast<size_t>(rows.begin) * stride) {}
  size_t stride;
  float* data;
};

size_t count(RowRange rows) { return static_cast<size_t>(rows.end - rows.begin); }
size_t width_of(const RunState& run, int32_t value) { return static_cast<size_t>(run.plan->value(value).width); }

void embedding(const RunState& run, const Step& step, RowRange rows) {
  const Block y(run, step.out, rows);
  kernels::EmbeddingArgs args;
  args.tables = run.plan->node(step).lookups.size();
  for (size_t i = 0; i < args.tables; ++i) {
    const PlanLookup& lookup = run.plan->lookups[static_cast<size_t>(step.lookups) + i];
    args.table[i] = lookup.table;
    args.table_stride[i] = static_cast<size_t>(lookup.stride);
    args.ids[i] = run.lookups[static_cast<size_t>(step.lookups) + i].data() + rows.begin;
  }
  args.rows = count(rows), args.width = width_of(run, step.out);
  args.y = y.data, args.y_stride = y.stride;
  run.plan->table->embedding(args);
}

void rope(const RunState& run, const Step& step, RowRange rows) {
  const Block x(run, step.in[0], rows), y(run, step.out, rows);
  const RopeTable& table = run.plan->rope_tables[static_cast<size_t>(step.rope_table)];
  const RopeOptions& options = run.plan->node(step).rope;
  const PlanRows kind = run.plan->value(step.out).rows;
  const SetRows& set = run.sets[static_cast<size_t>(kind.set.index)];
  const std::vector<int32_t>& positions = kind.take == Take::kAll     ? set.batch->positions
                                          : kind.take == Take::kFirst ? set.first_positions
                                                                      : set.last_positions;
  run.plan->table->rope({.x = x.data,
                         .x_stride = x.stride,
                         .rows = count(rows),
                         .heads = static_cast<size_t>(options.heads),
                         .head_dim = width_of(run, step.out) / static_cast<size_t>(options.heads),
                         .rotary_dim = static_cast<size_t>(options.rotary_dim),
                         .interleaved = options.interleaved,
                         .positions = positions.data() + rows.begin,
                         .cos = table.cos.data(),
                         .sin = table.sin.data(),
                         .y = y.data,
                         .y_stride = y.stride});
}

void gather(const RunState& run, const float* x, size_t x_stride, const int64_t* index, float* y, size_t y_stride, size_t rows,
            size_t width) {
  run.plan->table->gather_rows(
      {.x = x, .x_stride = x_stride, .index = index, .rows = rows, .width = width, .y = y, .y_stride = y_stride});
}

// Rows of sequences: pooled, or where only the pooled rows were computed, those (zeros for a sequence without tokens).
void pool(const RunState& run, const Step& step, RowRange rows) {
  const Block y(run, step.out, rows);
  const int32_t x = step.in[0];
  const PlanRows kind = run.plan->value(x).rows;
  const size_t width = width_of(run, step.out);
  if (kind.take != Take::kAll) {
    const std::span<const int64_t> taken = run.taken_rows(kind);
    for (int64_t s = rows.begin; s < rows.end; ++s) {
      const int64_t index = taken[static_cast<size_t>(s)] < 0 ? -1 : s;
      gather(run, run.read(x), run.stride(x), &index, y.data + static_cast<size_t>(s - rows.begin) * y.stride, y.stride, 1,
             width);
    }
    return;
  }
  kernels::Pool pooling = kernels::Pool::kMean;
  switch (run.plan->node(step).pooling) {
    case Pooling::kMean:
      break;
    case Pooling::kFirst:
      pooling = kernels::Pool::kFirst;
      break;
    case Pooling::kLast:
      pooling = kernels::Pool::kLast;
      break;
    case Pooling::kMax:
      pooling = kernels::Pool::kMax;
      break;
  }
  run.plan->table->pool({.x = run.read(x),
                         .x_stride = run.stride(x),
                         .offsets = run.sets[static_cast<size_t>(kind.set.index)].offsets.data() + rows.begin,
                         .sequences = count(rows),
                         .width = width,
                         .kind = pooling,
                         .y = y.data,
                         .y_stride = y.stride});
}

void output(const RunState& run, const Step& step, RowRange rows) {
  const PortState& port = run.outputs[static_cast<size_t>(step.port)];
  const Matrix& to = port.output->rows.matrix;
  const size_t width = width_of(run, step.in[0]);
  const size_t stride = static_cast<size_t>(to.stride == 0 ? to.width : to.stride);
  float* y = to.data + static_cast<size_t>(rows.begin) * stride;
  gather(run, run.read(step.in[0]), run.stride(step.in[0]), port.index.data() + rows.begin, y, stride, count(rows), width);
}

}  // namespace

void row_op(const RunState& run, const Node& node, int32_t from, int32_t to, RowRange rows) {
  const Block x(run, from, rows), y(run, to, rows);
  if (node.op == Op::kL2Normalize) {
    run.plan->table->l2_normalize({.x = x.data,
                                   .x_stride = x.stride,
                                   .rows = count(rows),
                                   .width = width_of(run, to),
                                   .eps = node.eps,
                                   .y = y.data,
                                   .y_stride = y.stride});
    return;
  }
  const size_t width = width_of(run, to) / static_cast<size_t>(node.groups);
  for (size_t group = 0; group < static_cast<size_t>(node.groups); ++group) {
    run.plan->table->norm({.x = x.data + group * width,
                           .x_stride = x.stride,
                           .rows = count(rows),
                           .width = width,
                           .rms = node.rms,
                           .eps = node.eps,
                           .gain = node.gain.empty() ? nullptr : node.gain.data(),
                           .bias = node.bias.empty() ? nullptr : node.bias.data(),
                           .y = y.data + group * width,
                           .y_stride = y.stride});
  }
}

void row_step(const RunState& run, const Step& step, RowRange rows) {
  const kernels::KernelTable& table = *run.plan->table;
  switch (step.kind) {
    case StepKind::kInput: {
      const PortState& port = run.inputs[static_cast<size_t>(step.port)];
      const ConstMatrix& from = port.input->rows.matrix;
      const Block y(run, step.out, rows);
      gather(run, static_cast<const float*>(from.data), static_cast<size_t>(from.stride == 0 ? from.width : from.stride),
             port.index.data() + rows.begin, y.data, y.stride, count(rows), width_of(run, step.out));
      return;
    }
    case StepKind::kEmbedding:
      return embedding(run, step, rows);
    case StepKind::kRope:
      return rope(run, step, rows);
    case StepKind::kPool:
      return pool(run, step, rows);
    case StepKind::kOutput:
      return output(run, step, rows);
    case StepKind::kNorm:
    case StepKind::kL2Normalize:
      return row_op(run, run.plan->node(step), step.in[0], step.out, rows);
    case StepKind::kMap: {
      const Block x(run, step.in[0], rows), y(run, step.out, rows);
      return table.map({.x = x.data,
                        .x_stride = x.stride,
                        .rows = count(rows),
                        .width = width_of(run, step.out),
                        .f = unary_of(run.plan->node(step).f),
                        .y = y.data,
                        .y_stride = y.stride});
    }
    case StepKind::kGate: {
      const Block x(run, step.in[0], rows), up(run, step.in[1], rows), y(run, step.out, rows);
      return table.gate({.x = x.data,
                         .x_stride = x.stride,
                         .up = up.data,
                         .up_stride = up.stride,
                         .rows = count(rows),
                         .width = width_of(run, step.out),
                         .f = unary_of(run.plan->node(step).f),
                         .y = y.data,
                         .y_stride = y.stride});
    }
    case StepKind::kAdd: {
      const Block a(run, step.in[0], rows), b(run, step.in[1], rows), y(run, step.out, rows);
      return table.add({.a = a.data,
                        .a_stride = a.stride,
                        .b = b.data,
                        .b_stride = b.stride,
                        .rows = count(rows),
                        .width = width_of(run, step.out),
                        .y = y.data,
                        .y_stride = y.stride});
    }
    case StepKind::kSelect: {
      const Block y(run, step.out, rows);
      const std::span<const int64_t> taken = run.taken_rows(run.plan->value(step.out).rows);
      return gather(run, run.read(step.in[0]), run.stride(step.in[0]), taken.data() + rows.begin, y.data, y.stride, count(rows),
                    width_of(run, step.out));
    }
    case StepKind::kMatmul:
    case StepKind::kAttention:
      return;  // not by rows alone
  }
}

}  // namespace v0
}  // namespace saccade
