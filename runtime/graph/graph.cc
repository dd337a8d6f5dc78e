#include "saccade/graph.h"

#include <atomic>

#include "runtime/graph/check.h"
#include "runtime/graph/graph_data.h"
#include "runtime/graph/rules.h"

namespace saccade {
inline namespace v0 {
namespace {

uint64_t next_graph_id() {
  static constinit std::atomic<uint64_t> last{0};  // 0 is no graph
  return ++last;
}

// A builder call: after an error nothing more is recorded; a call that fails is the error.
template <class F>
bool record(GraphData* graph, F&& f) {
  if (graph == nullptr || !graph->status.ok()) return false;
  graph->status = caught(f);
  return graph->status.ok();
}

// The value of the node that rule() returns.
template <class Rule>
Value add_node(GraphData* graph, Rule&& rule) {
  const bool added = record(graph, [&] {
    if (graph->nodes.size() >= INT32_MAX) fail(Code::kOutOfRange, "graph: ", graph->nodes.size(), " nodes are too many");
    graph->nodes.push_back(rule(static_cast<const GraphData&>(*graph)));
  });
  return added ? Value{graph->id, static_cast<int32_t>(graph->nodes.size() - 1)} : Value{};
}

}  // namespace

Graph::Graph() : data_(new(std::nothrow) GraphData) {
  if (data_ != nullptr) data_->id = next_graph_id();
}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

const Status& Graph::status() const {
  static const Status empty(Code::kInvalidArgument, "graph: moved from, or out of memory when it was made");
  return data_ == nullptr ? empty : data_->status;
}

RowSet Graph::token_set(std::string name) {
  const bool added = record(data_.get(), [&] {
    token_set_rule(*data_, name);
    data_->token_sets.push_back(std::move(name));
  });
  constexpr int32_t kNoRowSet = INT32_MIN;  // an error wherever it is used
  return added ? RowSet{static_cast<int32_t>(data_->token_sets.size())} : RowSet{kNoRowSet};
}

void Graph::output(std::string name, Value value) {
  record(data_.get(), [&] { data_->outputs.push_back(output_rule(*data_, std::move(name), value)); });
}

Value Graph::input(std::string name, int64_t width, RowSet rows) {
  return add_node(data_.get(), [&](const GraphData& g) { return input_rule(g, std::move(name), width, rows); });
}
Value Graph::ids(std::string name, RowSet rows) {
  return add_node(data_.get(), [&](const GraphData& g) { return ids_rule(g, std::move(name), rows); });
}
Value Graph::positions(RowSet rows) {
  return add_node(data_.get(), [&](const GraphData& g) { return positions_rule(g, rows); });
}
Value Graph::embedding(std::span<const Lookup> lookups) {
  return add_node(data_.get(), [&](const GraphData& g) { return embedding_rule(g, lookups); });
}
Value Graph::linear(Value x, const Weight& weight, const Vector& bias) {
  return add_node(data_.get(), [&](const GraphData& g) { return linear_rule(g, x, weight, bias); });
}
Value Graph::activation(Value x, Activation f) {
  return add_node(data_.get(), [&](const GraphData& g) { return activation_rule(g, x, f); });
}
Value Graph::gated(Value gate, Value up, Activation f) {
  return add_node(data_.get(), [&](const GraphData& g) { return gated_rule(g, gate, up, f); });
}
Value Graph::add(Value a, Value b) {
  return add_node(data_.get(), [&](const GraphData& g) { return add_rule(g, a, b); });
}
Value Graph::layer_norm(Value x, const Vector& gain, const Vector& bias, float eps, int64_t groups) {
  return add_node(data_.get(), [&](const GraphData& g) { return norm_rule(g, x, gain, &bias, eps, groups, false); });
}
Value Graph::rms_norm(Value x, const Vector& gain, float eps, int64_t groups) {
  return add_node(data_.get(), [&](const GraphData& g) { return norm_rule(g, x, gain, nullptr, eps, groups, true); });
}
Value Graph::l2_normalize(Value x, float eps) {
  return add_node(data_.get(), [&](const GraphData& g) { return l2_normalize_rule(g, x, eps); });
}
Value Graph::rope(Value x, const RopeOptions& options) {
  return add_node(data_.get(), [&](const GraphData& g) { return rope_rule(g, x, options); });
}
Value Graph::attention(Value q, Value k, Value v, const AttentionOptions& options) {
  return add_node(data_.get(), [&](const GraphData& g) { return attention_rule(g, q, k, v, options); });
}
Value Graph::attention_weights(Value attention) {
  return add_node(data_.get(), [&](const GraphData& g) { return attention_weights_rule(g, attention); });
}
Value Graph::pool(Value x, Pooling kind) {
  return add_node(data_.get(), [&](const GraphData& g) { return pool_rule(g, x, kind); });
}

}  // namespace v0
}  // namespace saccade
