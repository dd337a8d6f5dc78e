// Graph nodes become steps, one for one.
#include <cmath>

#include "runtime/plan/passes.h"
#include "runtime/plan/rewrite.h"

namespace saccade {
inline namespace v0 {

kernels::Unary unary_of(Activation f) {
  switch (f) {
    case Activation::kIdentity:
      return kernels::Unary::kIdentity;
    case Activation::kRelu:
      return kernels::Unary::kRelu;
    case Activation::kGelu:
      return kernels::Unary::kGeluErf;
    case Activation::kGeluTanh:
      return kernels::Unary::kGeluTanh;
    case Activation::kSilu:
      return kernels::Unary::kSilu;
    case Activation::kTanh:
      return kernels::Unary::kTanh;
    case Activation::kSigmoid:
      return kernels::Unary::kSigmoid;
  }
  return kernels::Unary::kIdentity;
}

namespace {

StepKind kind_of(Op op) {
  switch (op) {
    case Op::kEmbedding:
      return StepKind::kEmbedding;
    case Op::kLinear:
      return StepKind::kMatmul;
    case Op::kActivation:
      return StepKind::kMap;
    case Op::kGated:
      return StepKind::kGate;
    case Op::kAdd:
      return StepKind::kAdd;
    case Op::kNorm:
      return StepKind::kNorm;
    case Op::kL2Normalize:
      return StepKind::kL2Normalize;
    case Op::kRope:
      return StepKind::kRope;
    case Op::kAttention:
      return StepKind::kAttention;
    case Op::kPool:
      return StepKind::kPool;
    default:
      return StepKind::kInput;
  }
}

// Index of the cos and sin table for these options; ropes that agree share one.
int32_t rope_table(PlanData& plan, const RopeOptions& options) {
  const auto same = [&](const RopeTable& table) {
    return table.options.rotary_dim == options.rotary_dim && table.options.base == options.base &&
           table.options.scale == options.scale && table.options.max_positions == options.max_positions;
  };
  for (size_t i = 0; i < plan.rope_tables.size(); ++i) {
    if (same(plan.rope_tables[i])) return static_cast<int32_t>(i);
  }
  RopeTable table{options, {}, {}};
  const int64_t pairs = options.rotary_dim / 2;
  const size_t size = static_cast<size_t>(options.max_positions * pairs);
  table.cos.reserve(size);
  table.sin.reserve(size);
  for (int64_t position = 0; position < options.max_positions; ++position) {
    for (int64_t i = 0; i < pairs; ++i) {
      const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(options.rotary_dim);
      const double frequency = options.scale * std::pow(static_cast<double>(options.base), exponent);
      const double angle = static_cast<double>(position) * frequency;
      table.cos.push_back(static_cast<float>(std::cos(angle)));
      table.sin.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  plan.rope_tables.push_back(std::move(table));
  return static_cast<int32_t>(plan.rope_tables.size()) - 1;
}

void add_lookups(PlanData& plan, Step& step, const Node& node) {
  step.lookups = static_cast<int32_t>(plan.lookups.size());
  for (const LookupData& data : node.lookups) {
    PlanLookup lookup;
    lookup.ids = data.ids;
    lookup.offset = data.offset;
    lookup.rows = data.table.rows;
    lookup.width = data.table.width;
    lookup.set = node.rows;
    lookup.name = data.table.name.empty() ? node.name : data.table.name;
    plan.lookups.push_back(std::move(lookup));
  }
}

void add_input(PlanData& plan, int32_t id, bool ids) {
  PlanPort port;
  port.name = plan.nodes[static_cast<size_t>(id)].name;
  port.node = id;
  port.ids = ids;
  plan.inputs.push_back(std::move(port));
}

}  // namespace

void lower(PlanData& plan, const std::vector<bool>& needed) {
  for (const Node& node : plan.nodes) plan.values.push_back({.width = node.width, .rows = {node.rows}});
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    const Node& node = plan.nodes[i];
    const bool input = node.op == Op::kInput || node.op == Op::kIds;
    if (!needed[i]) {
      if (input) plan.unused_inputs.push_back(node.name);
      continue;
    }
    if (input) add_input(plan, static_cast<int32_t>(i), node.op == Op::kIds);
    if (node.op == Op::kIds || node.op == Op::kPositions || node.op == Op::kAttentionWeights) continue;
    Step step;
    step.kind = kind_of(node.op);
    step.node = static_cast<int32_t>(i);
    step.out = step.node;
    if (node.op == Op::kInput) step.port = static_cast<int32_t>(plan.inputs.size()) - 1;
    if (node.op == Op::kEmbedding) {
      add_lookups(plan, step, node);
    } else {
      step.in = node.inputs;
    }
    if (node.op == Op::kLinear) {
      Section& section = step.sections.emplace_back();
      section.node = step.node, section.out = step.out;
      step.out = kNone;
    }
    if (node.op == Op::kRope) step.rope_table = rope_table(plan, node.rope);
    plan.steps.push_back(std::move(step));
  }
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    PlanPort& port = plan.outputs[i];
    const Node& node = plan.nodes[static_cast<size_t>(port.node)];
    port.weights = node.op == Op::kAttentionWeights;
    if (port.weights) {
      for (Step& step : plan.steps) {
        if (step.node == node.inputs[0]) step.port = static_cast<int32_t>(i);
      }
      continue;
    }
    Step step;
    step.kind = StepKind::kOutput;
    step.in = {port.node};
    step.port = static_cast<int32_t>(i);
    plan.steps.push_back(std::move(step));
  }
}

}  // namespace v0
}  // namespace saccade
