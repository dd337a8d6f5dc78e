#include "runtime/plan/describe.h"

#include <algorithm>

#include "runtime/graph/check.h"
#include "runtime/plan/cost.h"
#include "runtime/plan/json_writer.h"
#include "runtime/plan/weight_store.h"

namespace saccade {
inline namespace v0 {

const char* step_kind_name(StepKind kind) {
  switch (kind) {
    case StepKind::kInput:
      return "input";
    case StepKind::kEmbedding:
      return "embedding";
    case StepKind::kMatmul:
      return "linear";
    case StepKind::kMap:
      return "activation";
    case StepKind::kGate:
      return "gated";
    case StepKind::kAdd:
      return "add";
    case StepKind::kNorm:
      return "norm";
    case StepKind::kL2Normalize:
      return "l2_normalize";
    case StepKind::kRope:
      return "rope";
    case StepKind::kAttention:
      return "attention";
    case StepKind::kPool:
      return "pool";
    case StepKind::kSelect:
      return "select";
    case StepKind::kOutput:
      return "output";
  }
  return "";
}

namespace {

const char* unary_name(kernels::Unary f) {
  switch (f) {
    case kernels::Unary::kIdentity:
      return "identity";
    case kernels::Unary::kRelu:
      return "relu";
    case kernels::Unary::kGeluErf:
      return "gelu";
    case kernels::Unary::kGeluTanh:
      return "gelu_tanh";
    case kernels::Unary::kSilu:
      return "silu";
    case kernels::Unary::kTanh:
      return "tanh";
    case kernels::Unary::kSigmoid:
      return "sigmoid";
    case kernels::Unary::kErf:
      return "erf";
    case kernels::Unary::kExp2:
      return "exp2";
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
  for (const Section& section : step.sections) {
    if (section.activation != kernels::Unary::kIdentity) {
      append(name, text(" + ", unary_name(section.activation)));
      break;
    }
  }
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
  for_each_write(step, [&](int32_t value) {
    if (!list.empty()) list += " ";
    list += shape_name(plan, value);
  });
  if (step.port != kNone && step.kind == StepKind::kAttention) list += " " + plan.outputs[static_cast<size_t>(step.port)].name;
  return list;
}

int64_t weight_bytes(const Step& step) {
  int64_t bytes = 0;
  for (const Section& section : step.sections)
    bytes += section.prepared != nullptr ? section.prepared->bytes() : section.packed->bytes;
  return bytes;
}

int64_t row_bytes(const PlanData& plan) {
  int64_t floats = 0;
  for (int64_t width : plan.block_width) floats += width;
  return floats * static_cast<int64_t>(sizeof(float));
}

const char* backend_name(const PlanData& plan) { return plan.backend == nullptr ? "saccade" : plan.backend->name(); }

std::string padded(std::string cell, size_t width) {
  if (cell.size() < width) cell.append(width - cell.size(), ' ');
  return cell;
}

}  // namespace

void name_steps(PlanData& plan) {
  for (Step& step : plan.steps) step.name = step_name(plan, step);
}

std::string describe(const PlanData& plan) {
  std::string out = text("isa ", plan.isa, ", linears by ", backend_name(plan), ", f32, weights ", plan.weight_bytes,
                         " bytes, arena ", row_bytes(plan), " bytes a row\n");
  if (plan.backend != nullptr) out += "results of another library's linears: within tolerance, not the same bits\n";
  std::vector<std::vector<std::string>> rows = {{"step", "chain", "op", "reads", "writes", "weights"}};
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    rows.push_back({std::to_string(i), step.chain == kNone ? "" : std::to_string(step.chain), step.name, inputs_text(plan, step),
                    outputs_text(plan, step), step.sections.empty() ? "" : std::to_string(weight_bytes(step))});
  }
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) line += padded(row[c], widths[c] + 2);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string describe_json(const PlanData& plan) {
  JsonWriter json;
  json.begin_object();
  json.field("isa", plan.isa);
  json.field("precision", std::string_view("f32"));
  json.field("linear_backend", std::string_view(backend_name(plan)));
  json.field("same_bits", std::string_view(plan.backend == nullptr ? "per isa" : "no"));
  json.field("weight_bytes", plan.weight_bytes);
  json.field("cache_bytes", plan.cache_bytes);
  json.field("arena_bytes_per_row", row_bytes(plan));
  json.key("steps");
  json.begin_array();
  for (const Step& step : plan.steps) {
    json.begin_object();
    json.field("op", std::string_view(step_kind_name(step.kind)));
    json.field("name", step.name);
    json.field("reads", inputs_text(plan, step));
    json.field("writes", outputs_text(plan, step));
    if (step.chain != kNone) json.field("chain", int64_t{step.chain});
    if (!step.sections.empty()) {
      json.field("weight_bytes", weight_bytes(step));
      json.key("linears");
      json.begin_array();
      for (const Section& section : step.sections) {
        const Node& node = plan.nodes[static_cast<size_t>(section.node)];
        json.begin_object();
        json.field("name", node.name);
        json.field("in", node.weight->in);
        json.field("out", node.weight->out);
        json.field("activation", std::string_view(unary_name(section.activation)));
        json.end_object();
      }
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text();
}

}  // namespace v0
}  // namespace saccade
