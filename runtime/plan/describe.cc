#include "runtime/plan/describe.h"

#include <algorithm>

#include "runtime/graph/check.h"
#include "runtime/plan/cost.h"
#include "runtime/plan/json_writer.h"

namespace saccade {
inline namespace v0 {

const char* step_kind_name(StepKind kind) {
  switch (kind) {
    case StepKind::kInput: return "input";
    case StepKind::kEmbedding: return "embedding";
    case StepKind::kMatmul: return "linear";
    case StepKind::kMap: return "activation";
    case StepKind::kGate: return "gated";
    case StepKind::kAdd: return "add";
    case StepKind::kNorm: return "norm";
    case StepKind::kL2Normalize: return "l2_normalize";
    case StepKind::kRope: return "rope";
    case StepKind::kAttention: return "attention";
    case StepKind::kPool: return "pool";
    case StepKind::kSelect: return "select";
    case StepKind::kOutput: return "output";
  }
  return "";
}

namespace {

const char* unary_name(kernels::Unary f) {
  switch (f) {
    case kernels::Unary::kIdentity: return "identity";
    case kernels::Unary::kRelu: return "relu";
    case kernels::Unary::kGeluErf: return "gelu";
    case kernels::Unary::kGeluTanh: return "gelu_tanh";
    case kernels::Unary::kSilu: return "silu";
    case kernels::Unary::kTanh: return "tanh";
    case kernels::Unary::kSigmoid: return "sigmoid";
    case kernels::Unary::kErf: return "erf";
    case kernels::Unary::kExp2: return "exp2";
  }
  return "";
}

const char* norm_name(const Node& node) {
  if (node.op == Op::kL2Normalize) return "l2_normalize";
  return node.rms ? "rms_norm" : "layer_norm";
}

std::string step_name(const PlanData& plan, const Step& step) {
  std::string name = step_kind_name(step.kind);
  if (step.kind == StepKind::kNorm) name = norm_name(plan.node(step));
  if (step.sections.size() > 1) append(name, text(" x", step.sections.size()));
  const kernels::Unary first = step.sections.empty() ? kernels::Unary::kIdentity : step.sections[0].activation;
  for (const Section& section : step.sections) {
    if (section.activation != kernels::Unary::kIdentity) {
      append(name, text(" + ", unary_name(section.activation)));
      break;
    }
  }
  (void)first;
  if (!step.sections.empty() && step.sections[0].residual != kNone) name += " + add";
  if (step.then != kNone) append(name, text(" + ", norm_name(plan.nodes[static_cast<size_t>(step.then)])));
  return name;
}

std::string rows_name(const PlanData& plan, PlanRows rows) {
  if (rows.set.index == RowSet::kSequences) return "sequences";
  const std::string set = rows.set.index == 0 ? "tokens" : plan.token_sets[static_cast<size_t>(rows.set.index) - 1];
  if (rows.take == Take::kFirst) return "first of " + set;
  if (rows.take == Take::kLast) return "last of " + set;
  return set;
}

std::string shape_name(const PlanData& plan, int32_t value) {
  return text("[", rows_name(plan, plan.value(value).rows), ", ", plan.value(value).width, "]");
}

std::string inputs_text(const PlanData& plan, const Step& step) {
  std::string list;
  const auto add = [&](std::string_view part) {
    if (!list.empty()) list += " ";
    list += part;
  };
  if (step.kind == StepKind::kInput) add(plan.inputs[static_cast<size_t>(step.port)].name);
  if (step.kind == StepKind::kEmbedding) {
    for (size_t i = 0; i < plan.node(step).lookups.size(); ++i) {
      const PlanLookup& lookup = plan.lookups[static_cast<size_t>(step.lookups) + i];
      add(text("[", lookup.rows, ", ", lookup.width, "]"));
    }
  }
  for_each_read(step, [&](int32_t value) { add(shape_name(plan, value)); });
  return list;
}

std::string outputs_text(const PlanData& plan, const Step& step) {
  if (step.kind == StepKind::kOutput) return plan.outputs[static_cast<size_t>(step.port)].name;
  std::string list;
  for_each_write(step, [&](int32_t value) { list += (list.empty() ? "" : " ") + shape_name(plan, value); });
  if (step.port != kNone && step.kind == StepKind::kAttention) list += " " + plan.outputs[static_cast<size_t>(step.port)].name;
  return list;
}

int64_t step_weight_bytes(const Step& step, const PlanData& plan);

}  // namespace

void name_steps(PlanData& plan) {
  for (Step& step : plan.steps) step.name = step_name(plan, step);
}

}  // namespace v0
}  // namespace saccade
