// Steps that call one kernel for a block of rows.
#include "runtime/execute/steps.h"
#include "runtime/graph/batch_data.h"
#include "runtime/plan/rewrite.h"

namespace saccade {
inline namespace v0 {
namespace {

// Block of rows of a value: the fields that every row kernel has.
struct Block {
  Block(const WorkerRun& worker, int32_t value, RowRange rows)
      : stride(worker.stride(value)), data(worker.row(value, rows.begin)) {}
  size_t stride;
  float* data;
};

size_t count(RowRange rows) { return static_cast<size_t>(rows.end - rows.begin); }
size_t width_of(const WorkerRun& worker, int32_t value) { return static_cast<size_t>(worker.plan->value(value).width); }

void embedding(const WorkerRun& worker, const Step& step, RowRange rows) {
  const Block y(worker, step.out, rows);
  kernels::EmbeddingArgs args;
  args.tables = worker.plan->node(step).lookups.size();
  for (size_t i = 0; i < args.tables; ++i) {
    const PlanLookup& lookup = worker.plan->lookups[static_cast<size_t>(step.lookups) + i];
    args.table[i] = lookup.table;
    args.table_stride[i] = static_cast<size_t>(lookup.stride);
    args.ids[i] = worker.run->lookups[static_cast<size_t>(step.lookups) + i].data() + rows.begin;
  }
  args.rows = count(rows), args.width = width_of(worker, step.out);
  args.y = y.data, args.y_stride = y.stride;
  worker.plan->table->embedding(args);
}

void rope(const WorkerRun& worker, const Step& step, RowRange rows) {
  const Block x(worker, step.in[0], rows), y(worker, step.out, rows);
  const RopeTable& table = worker.plan->rope_tables[static_cast<size_t>(step.rope_table)];
  const RopeOptions& options = worker.plan->node(step).rope;
  const PlanRows kind = worker.plan->value(step.out).rows;
  const SetRows& set = worker.run->sets[static_cast<size_t>(kind.set.index)];
  const std::vector<int32_t>& positions = kind.take == Take::kAll     ? set.batch->positions
                                          : kind.take == Take::kFirst ? set.first_positions
                                                                      : set.last_positions;
  worker.plan->table->rope({.x = x.data,
                            .x_stride = x.stride,
                            .rows = count(rows),
                            .heads = static_cast<size_t>(options.heads),
                            .head_dim = width_of(worker, step.out) / static_cast<size_t>(options.heads),
                            .rotary_dim = static_cast<size_t>(options.rotary_dim),
                            .interleaved = options.interleaved,
                            .positions = positions.data() + rows.begin,
                            .cos = table.cos.data(),
                            .sin = table.sin.data(),
                            .y = y.data,
                            .y_stride = y.stride});
}

void gather(const WorkerRun& worker, const float* x, size_t x_stride, const int64_t* index, float* y, size_t y_stride,
            size_t rows, size_t width) {
  worker.plan->table->gather_rows(
      {.x = x, .x_stride = x_stride, .index = index, .rows = rows, .width = width, .y = y, .y_stride = y_stride});
}

// Rows of sequences: pooled, or where only the pooled rows were computed, those (zeros for a sequence without tokens).
void pool(const WorkerRun& worker, const Step& step, RowRange rows) {
  const Block y(worker, step.out, rows);
  const int32_t x = step.in[0];
  const PlanRows kind = worker.plan->value(x).rows;
  const size_t width = width_of(worker, step.out);
  if (kind.take != Take::kAll) {
    const std::span<const int64_t> taken = worker.run->taken_rows(kind);
    for (int64_t s = rows.begin; s < rows.end; ++s) {
      const int64_t index = taken[static_cast<size_t>(s)] < 0 ? -1 : s;
      gather(worker, worker.row(x, 0), worker.stride(x), &index, y.data + static_cast<size_t>(s - rows.begin) * y.stride,
             y.stride, 1, width);
    }
    return;
  }
  kernels::Pool pooling = kernels::Pool::kMean;
  switch (worker.plan->node(step).pooling) {
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
  worker.plan->table->pool({.x = worker.row(x, 0),
                            .x_stride = worker.stride(x),
                            .offsets = worker.run->sets[static_cast<size_t>(kind.set.index)].offsets.data() + rows.begin,
                            .sequences = count(rows),
                            .width = width,
                            .kind = pooling,
                            .y = y.data,
                            .y_stride = y.stride});
}

void output(const WorkerRun& worker, const Step& step, RowRange rows) {
  const PortState& port = worker.run->outputs[static_cast<size_t>(step.port)];
  const Matrix& to = port.output->rows.matrix;
  const size_t width = width_of(worker, step.in[0]);
  const size_t stride = static_cast<size_t>(to.stride == 0 ? to.width : to.stride);
  float* y = to.data + static_cast<size_t>(rows.begin) * stride;
  gather(worker, worker.row(step.in[0], 0), worker.stride(step.in[0]), port.index.data() + rows.begin, y, stride, count(rows),
         width);
}

void row_op(const WorkerRun& worker, const Node& node, int32_t from, int32_t to, RowRange rows) {
  const Block x(worker, from, rows), y(worker, to, rows);
  if (node.op == Op::kL2Normalize) {
    worker.plan->table->l2_normalize({.x = x.data,
                                      .x_stride = x.stride,
                                      .rows = count(rows),
                                      .width = width_of(worker, to),
                                      .eps = node.eps,
                                      .y = y.data,
                                      .y_stride = y.stride});
    return;
  }
  const size_t width = width_of(worker, to) / static_cast<size_t>(node.groups);
  for (size_t group = 0; group < static_cast<size_t>(node.groups); ++group) {
    worker.plan->table->norm({.x = x.data + group * width,
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

void one_step(const WorkerRun& worker, const Step& step, RowRange rows) {
  const kernels::KernelTable& table = *worker.plan->table;
  switch (step.kind) {
    case StepKind::kInput: {
      const PortState& port = worker.run->inputs[static_cast<size_t>(step.port)];
      const ConstMatrix& from = port.input->rows.matrix;
      const Block y(worker, step.out, rows);
      gather(worker, static_cast<const float*>(from.data), static_cast<size_t>(from.stride == 0 ? from.width : from.stride),
             port.index.data() + rows.begin, y.data, y.stride, count(rows), width_of(worker, step.out));
      return;
    }
    case StepKind::kEmbedding:
      return embedding(worker, step, rows);
    case StepKind::kRope:
      return rope(worker, step, rows);
    case StepKind::kPool:
      return pool(worker, step, rows);
    case StepKind::kOutput:
      return output(worker, step, rows);
    case StepKind::kNorm:
    case StepKind::kL2Normalize:
      return row_op(worker, worker.plan->node(step), step.in[0], step.out, rows);
    case StepKind::kMap: {
      const Block x(worker, step.in[0], rows), y(worker, step.out, rows);
      return table.map({.x = x.data,
                        .x_stride = x.stride,
                        .rows = count(rows),
                        .width = width_of(worker, step.out),
                        .f = unary_of(worker.plan->node(step).f),
                        .y = y.data,
                        .y_stride = y.stride});
    }
    case StepKind::kGate: {
      const Block x(worker, step.in[0], rows), up(worker, step.in[1], rows), y(worker, step.out, rows);
      return table.gate({.x = x.data,
                         .x_stride = x.stride,
                         .up = up.data,
                         .up_stride = up.stride,
                         .rows = count(rows),
                         .width = width_of(worker, step.out),
                         .f = unary_of(worker.plan->node(step).f),
                         .y = y.data,
                         .y_stride = y.stride});
    }
    case StepKind::kAdd: {
      const Block a(worker, step.in[0], rows), b(worker, step.in[1], rows), y(worker, step.out, rows);
      return table.add({.a = a.data,
                        .a_stride = a.stride,
                        .b = b.data,
                        .b_stride = b.stride,
                        .rows = count(rows),
                        .width = width_of(worker, step.out),
                        .y = y.data,
                        .y_stride = y.stride});
    }
    case StepKind::kSelect: {
      const Block y(worker, step.out, rows);
      const std::span<const int64_t> taken = worker.run->taken_rows(worker.plan->value(step.out).rows);
      return gather(worker, worker.row(step.in[0], 0), worker.stride(step.in[0]), taken.data() + rows.begin, y.data, y.stride,
                    count(rows), width_of(worker, step.out));
    }
    case StepKind::kMatmul:
    case StepKind::kAttention:
      return;  // not by rows alone
  }
}

}  // namespace

void row_op(const WorkerRun& worker, const Step& step, RowRange rows) {
  if (step.then != kNone) row_op(worker, worker.plan->nodes[static_cast<size_t>(step.then)], main_out(step), step.then_out, rows);
}

void row_step(const WorkerRun& worker, const Step& step, RowRange rows) {
  one_step(worker, step, rows);
  row_op(worker, step, rows);
}

}  // namespace v0
}  // namespace saccade
