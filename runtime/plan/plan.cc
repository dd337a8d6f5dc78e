// Plan::compile: checks, passes in order, weights.
#include "saccade/plan.h"

#include <algorithm>

#include "runtime/graph/check.h"
#include "runtime/graph/rules.h"
#include "runtime/plan/cost.h"
#include "runtime/plan/describe.h"
#include "runtime/plan/isa.h"
#include "runtime/plan/passes.h"
#include "runtime/plan/weight_store.h"
#include "saccade/machine.h"

namespace saccade {
inline namespace v0 {
namespace {

constexpr int64_t kDefaultCache = int64_t{512} << 10;  // where the machine does not tell

std::shared_ptr<WeightStore> store_of(const GraphData& graph) {
  static std::mutex creation;
  const std::lock_guard lock(creation);
  if (!graph.store) graph.store = std::make_shared<WeightStore>();
  return graph.store;
}

void choose_outputs(PlanData& plan, const GraphData& graph, const std::vector<std::string>& names) {
  for (const OutputData& output : graph.outputs) {
    const auto times = std::count(names.begin(), names.end(), output.name);
    require(times <= 1, "compile: outputs name '", output.name, "' twice");
    if (times == 1 || names.empty()) plan.outputs.push_back({.name = output.name, .node = output.node});
  }
  for (const std::string& name : names) {
    const auto known = [&](const OutputData& output) { return output.name == name; };
    if (std::none_of(graph.outputs.begin(), graph.outputs.end(), known)) {
      fail(Code::kNotFound, "compile: the graph has no output '", name, "'");
    }
  }
}

// Equal attention steps share one list of tasks.
void find_attention_works(PlanData& plan) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    Step& step = plan.steps[i];
    if (step.kind != StepKind::kAttention) continue;
    const AttentionData& data = plan.node(step).attention;
    const AttentionWork work{.queries = plan.value(step.out).rows,
                             .keys = plan.value(step.in[1]).rows.set,
                             .heads = data.heads,
                             .kv_heads = data.kv_heads,
                             .head_dim = data.head_dim,
                             .value_dim = data.value_dim};
    auto& works = plan.attention_works;
    step.work = static_cast<int32_t>(std::find(works.begin(), works.end(), work) - works.begin());
    if (static_cast<size_t>(step.work) == works.size()) works.push_back(work);
    if (step.port != kNone) plan.outputs[static_cast<size_t>(step.port)].step = static_cast<int32_t>(i);
  }
}

void load_weights(PlanData& plan, const GraphData& graph, bool release) {
  WeightStore& store = *plan.store;
  std::vector<Section*> sections;
  std::vector<int32_t> linears;
  for (Step& step : plan.steps) {
    for (Section& section : step.sections) sections.push_back(&section), linears.push_back(section.node);
  }
  // The graph alone holds what is packed, so that each weight can go as soon as it is.
  for (Node& node : plan.nodes) {
    if (node.weight) node.weight->owner.reset();
  }
  if (plan.backend) {
    const auto prepared = store.prepare(graph, linears, plan.backend, *plan.table);
    for (size_t i = 0; i < sections.size(); ++i) sections[i]->prepared = prepared[i], plan.weight_bytes += prepared[i]->bytes();
  } else {
    const auto packed = store.pack(graph, linears, *plan.table, release);
    std::vector<const PackedWeight*> counted;
    for (size_t i = 0; i < sections.size(); ++i) {
      sections[i]->packed = packed[i];
      if (std::find(counted.begin(), counted.end(), packed[i]) != counted.end()) continue;
      counted.push_back(packed[i]);
      plan.weight_bytes += packed[i]->bytes;
    }
  }
  if (release) store.release(graph, linears);
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::kEmbedding) continue;
    for (size_t i = 0; i < plan.node(step).lookups.size(); ++i) {
      PlanLookup& lookup = plan.lookups[static_cast<size_t>(step.lookups) + i];
      lookup.table = store.f32_rows(plan.node(step).lookups[i].table, *plan.table, lookup.stride);
      plan.weight_bytes += lookup.rows * lookup.width * static_cast<int64_t>(sizeof(float));
    }
  }
}

std::shared_ptr<const PlanData> compile_plan(const GraphData& graph, const PlanOptions& options) {
  const Status complete = check_complete(graph);
  if (!complete.ok()) throw Failure{complete};
  if (options.precision != Precision::kF32) fail(Code::kUnsupported, "compile: precision: only f32 is supported");
  require(options.cache_bytes >= 0, "compile: cache_bytes must not be negative, got ", options.cache_bytes);

  auto plan = std::make_shared<PlanData>();
  plan->table = &resolve_isa(options.isa);
  plan->isa = kernels::name(plan->table->isa);
  plan->backend = options.linear_backend;
  plan->cache_bytes = options.cache_bytes > 0 ? options.cache_bytes : machine().l2_bytes;
  if (plan->cache_bytes <= 0) plan->cache_bytes = kDefaultCache;
  plan->store = store_of(graph);
  const std::lock_guard lock(plan->store->mutex);
  plan->nodes = graph.nodes;
  plan->token_sets = graph.token_sets;
  choose_outputs(*plan, graph, options.outputs);

  std::vector<int32_t> outputs;
  for (const PlanPort& port : plan->outputs) outputs.push_back(port.node);
  lower(*plan, needed_nodes(plan->nodes, outputs));
  needed_rows(*plan);
  fuse_activations(*plan);
  fuse_adds(*plan);
  fuse_row_ops(*plan);
  merge_linears(*plan);
  find_chains(*plan);
  plan_memory(*plan);
  find_attention_works(*plan);
  name_steps(*plan);
  load_weights(*plan, graph, options.release_weights);
  return plan;
}

}  // namespace

Result<Plan> Plan::compile(const Graph& graph, const PlanOptions& options) {
  std::shared_ptr<const PlanData> data;
  Status status = caught([&] {
    if (!graph.status().ok()) throw Failure{graph.status()};  // and one that was moved from has no data
    data = compile_plan(graph.data(), options);
  });
  if (!status.ok()) return status;
  return Plan(std::move(data));
}

// A plan that was moved from tells nothing.
std::string Plan::describe() const { return data_ == nullptr ? "" : saccade::describe(*data_); }
std::string Plan::describe_json() const { return data_ == nullptr ? "" : saccade::describe_json(*data_); }
const std::string& Plan::isa() const {
  static const std::string none;
  return data_ == nullptr ? none : data_->isa;
}
int64_t Plan::weight_bytes() const { return data_ == nullptr ? 0 : data_->weight_bytes; }

int64_t Plan::workspace_bytes(int64_t tokens, int64_t sequences) const {
  if (data_ == nullptr || tokens < 0 || sequences < 0) return 0;
  if (std::max(tokens, sequences) > kMostRows) return INT64_MAX;
  return arena_bytes(*data_, worst_case(*data_, tokens, sequences), resolve_threads(0));
}

double Plan::flops(int64_t tokens, int64_t sequences) const {
  double flops = 0;
  if (data_ == nullptr) return flops;
  for (const Step& step : data_->steps) {
    if (step.kind == StepKind::kMatmul) {
      flops += matmul_flops(*data_, step, data_->value(main_out(step)).rows.per_sequence() ? sequences : tokens);
    } else if (step.kind == StepKind::kAttention && sequences > 0) {
      flops += attention_flops(*data_, step, tokens / sequences, tokens / sequences) * static_cast<double>(sequences);
    }
  }
  return flops;
}

}  // namespace v0
}  // namespace saccade
