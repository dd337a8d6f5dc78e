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

void run_packed(const RunState& run, const Section& section, Operand a, RowRange rows, size_t panel_begin, size_t panel_end) {
  const Node& node = run.plan->nodes[static_cast<size_t>(section.node)];
  const auto at = [&](int32_t value) { return static_cast<size_t>(rows.begin) * run.stride(value); };
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
    args.residual = run.read(section.residual) + at(section.residual);
    args.residual_stride = run.stride(section.residual);
  }
  args.c = run.write(section.out) + at(section.out);
  args.c_stride = run.stride(section.out);
  args.cache_bytes = static_cast<size_t>(run.plan->cache_bytes);
  run.plan->table->matmul(args);
}

// Another library's product, then what our epilogue does, as separate passes over the same rows.
Status run_prepared(const RunState& run, const Section& section, Operand a, RowRange rows) {
  const Node& node = run.plan->nodes[static_cast<size_t>(section.node)];
  const int64_t tile = std::max<int64_t>(1, run.plan->backend->row_tile());
  const size_t width = static_cast<size_t>(node.weight->out), stride = run.stride(section.out);
  for (int64_t begin = rows.begin; begin < rows.end; begin += tile) {
    const int64_t count = std::min(tile, rows.end - begin);
    float* c = run.write(section.out) + static_cast<size_t>(begin) * stride;
    Status status = section.prepared->run(a.data + static_cast<size_t>(begin - rows.begin) * a.stride,
                                          static_cast<int64_t>(a.stride), count, c, static_cast<int64_t>(stride));
    if (!status.ok()) return status;
    if (section.activation != kernels::Unary::kIdentity) {
      run.plan->table->map({.x = c,
                            .x_stride = stride,
                            .rows = static_cast<size_t>(count),
                            .width = width,
                            .f = section.activation,
                            .y = c,
                            .y_stride = stride});
    }
    if (section.residual != kNone) {
      const size_t residual_stride = run.stride(section.residual);
      run.plan->table->add({.a = c,
                            .a_stride = stride,
                            .b = run.read(section.residual) + static_cast<size_t>(begin) * residual_stride,
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

Status matmul_tile(const RunState& run, const Step& step, const Phase& phase, int64_t tile) {
  const PlanData& plan = *run.plan;
  const int64_t block = tile / phase.splits, split = tile % phase.splits;
  const RowRange rows{block * phase.block, std::min((block + 1) * phase.block, phase.rows)};
  if (!phase.then_only) {
    const size_t a_stride = run.stride(step.in[0]);
    const Operand a{run.read(step.in[0]) + static_cast<size_t>(rows.begin) * a_stride, a_stride};
    int64_t total = 0;  // panels of all sections
    const auto panels_of = [&](const Section& section) {
      const int64_t nr = static_cast<int64_t>(plan.table->nr);
      return (plan.nodes[static_cast<size_t>(section.node)].weight->out + nr - 1) / nr;
    };
    for (const Section& section : step.sections) total += panels_of(section);
    const int64_t begin = total * split / phase.splits, end = total * (split + 1) / phase.splits;
    int64_t first = 0;  // panel number of the section's first one
    for (const Section& section : step.sections) {
      const int64_t count = panels_of(section);
      const int64_t from = std::max(begin - first, int64_t{0}), to = std::min(end - first, count);
      first += count;
      if (from >= to) continue;
      if (section.prepared == nullptr) {
        run_packed(run, section, a, rows, static_cast<size_t>(from), static_cast<size_t>(to));
      } else {
        Status status = run_prepared(run, section, a, rows);
        if (!status.ok()) return status;
      }
    }
  }
  if (step.then != kNone && phase.whole_rows) {
    row_op(run, plan.nodes[static_cast<size_t>(step.then)], step.sections[0].out, step.then_out, rows);
  }
  return {};
}

}  // namespace v0
}  // namespace saccade
