// Matmul steps: a block of rows times a range of panels, counted over all sections one after the other.
#include <algorithm>

#include "runtime/execute/steps.h"
#include "runtime/plan/weight_store.h"

namespace saccade {
inline namespace v0 {
namespace {

struct Operand {
  const float* data;
  size_t stride;
};

void run_packed(const WorkerRun& worker, const Section& section, Operand a, RowRange rows, size_t panel_begin, size_t panel_end) {
  const Node& node = worker.plan->nodes[static_cast<size_t>(section.node)];
  kernels::MatmulArgs args;
  args.a = a.data;
  args.a_stride = a.stride;
  args.panels = section.packed->panels;
  args.rows = static_cast<size_t>(rows.end - rows.begin);
  args.k = static_cast<size_t>(node.weight->in);
  args.n = static_cast<size_t>(node.weight->out);
  args.panel_begin = panel_begin;
  args.panel_end = panel_end;
  args.bias = node.bias.empty() ? nullptr : node.bias.data();
  args.activation = section.activation;
  if (section.residual != kNone) {
    args.residual = worker.row(section.residual, rows.begin);
    args.residual_stride = worker.stride(section.residual);
  }
  args.c = worker.row(section.out, rows.begin);
  args.c_stride = worker.stride(section.out);
  args.cache_bytes = static_cast<size_t>(worker.plan->cache_bytes);
  worker.plan->table->matmul(args);
}

// Another library's product, then what our epilogue does, as separate passes over the same rows.
Status run_prepared(const WorkerRun& worker, const Section& section, Operand a, RowRange rows) {
  const Node& node = worker.plan->nodes[static_cast<size_t>(section.node)];
  const int64_t tile = std::max<int64_t>(1, worker.plan->backend->row_tile());
  const size_t width = static_cast<size_t>(node.weight->out), stride = worker.stride(section.out);
  for (int64_t begin = rows.begin; begin < rows.end; begin += tile) {
    const int64_t count = std::min(tile, rows.end - begin);
    float* c = worker.row(section.out, begin);
    Status status = section.prepared->run(a.data + static_cast<size_t>(begin - rows.begin) * a.stride,
                                          static_cast<int64_t>(a.stride), count, c, static_cast<int64_t>(stride));
    if (!status.ok()) return status;
    if (section.activation != kernels::Unary::kIdentity) {
      worker.plan->table->map({.x = c,
                               .x_stride = stride,
                               .rows = static_cast<size_t>(count),
                               .width = width,
                               .f = section.activation,
                               .y = c,
                               .y_stride = stride});
    }
    if (section.residual != kNone) {
      const size_t residual_stride = worker.stride(section.residual);
      worker.plan->table->add({.a = c,
                               .a_stride = stride,
                               .b = worker.row(section.residual, begin),
                               .b_stride = residual_stride,
                               .rows = static_cast<size_t>(count),
                               .width = width,
                               .y = c,
                               .y_stride = stride});
    }
  }
  return {};
}

}  // namespace

Status matmul_tile(const WorkerRun& worker, const Step& step, RowRange rows, int64_t split, int64_t splits) {
  const PlanData& plan = *worker.plan;
  const Operand a{worker.row(step.in[0], rows.begin), worker.stride(step.in[0])};
  int64_t total = 0;  // panels of all sections
  const auto panels_of = [&](const Section& section) {
    const int64_t nr = static_cast<int64_t>(plan.table->nr);
    return (plan.nodes[static_cast<size_t>(section.node)].weight->out + nr - 1) / nr;
  };
  for (const Section& section : step.sections) total += panels_of(section);
  const int64_t begin = total * split / splits, end = total * (split + 1) / splits;
  int64_t first = 0;  // panel number of the section's first one
  for (const Section& section : step.sections) {
    const int64_t count = panels_of(section);
    const int64_t from = std::max(begin - first, int64_t{0}), to = std::min(end - first, count);
    first += count;
    if (from >= to) continue;
    if (section.prepared == nullptr) {
      run_packed(worker, section, a, rows, static_cast<size_t>(from), static_cast<size_t>(to));
    } else {
      Status status = run_prepared(worker, section, a, rows);
      if (!status.ok()) return status;
    }
  }
  if (splits == 1) row_op(worker, step, rows);
  return {};
}

}  // namespace v0
}  // namespace saccade
