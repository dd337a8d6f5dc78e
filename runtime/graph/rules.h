// One function per op: checks the operands of a builder call and returns the node that it adds. A call that cannot be right
// throws a Failure (check.h) that names the op, the argument, what was expected and what came.
#pragma once

#include <span>
#include <string>

#include "runtime/graph/graph_data.h"

namespace saccade {
inline namespace v0 {

// Largest width and number of heads: offsets in a row then fit 32 bits and products of two of them 64.
inline constexpr int64_t kMaxWidth = INT32_MAX;

Node input_rule(const GraphData& graph, std::string name, int64_t width, RowSet rows);
Node ids_rule(const GraphData& graph, std::string name, RowSet rows);
Node positions_rule(const GraphData& graph, RowSet rows);
Node embedding_rule(const GraphData& graph, std::span<const Lookup> lookups);
Node linear_rule(const GraphData& graph, Value x, const Weight& weight, const Vector& bias);
Node activation_rule(const GraphData& graph, Value x, Activation f);
Node gated_rule(const GraphData& graph, Value gate, Value up, Activation f);
Node add_rule(const GraphData& graph, Value a, Value b);
Node norm_rule(const GraphData& graph, Value x, const Vector& gain, const Vector* bias, float eps, int64_t groups, bool rms);
Node l2_normalize_rule(const GraphData& graph, Value x, float eps);
Node rope_rule(const GraphData& graph, Value x, const RopeOptions& options);
Node attention_rule(const GraphData& graph, Value q, Value k, Value v, const AttentionOptions& options);
Node attention_weights_rule(const GraphData& graph, Value attention);
Node pool_rule(const GraphData& graph, Value x, Pooling kind);

void token_set_rule(const GraphData& graph, const std::string& name);
OutputData output_rule(const GraphData& graph, std::string name, Value value);

// Whether the graph can be compiled: no error so far, at least one output, every input reaches an output.
Status check_complete(const GraphData& graph);

// ---- for the rules

// "tokens", "sequences" or the name of a token set.
std::string row_set_name(const GraphData& graph, RowSet rows);
// The node of an operand, which must be a value of this graph.
const Node& operand(const GraphData& graph, const char* op, const char* argument, Value value);
// The same, and one that holds numbers: not ids, positions or attention weights.
const Node& matrix_operand(const GraphData& graph, const char* op, const char* argument, Value value);
// Fails unless both have the same rows.
void check_same_rows(const GraphData& graph, const char* op, const char* a_name, const Node& a, const char* b_name,
                     const Node& b);
void check_rows(const GraphData& graph, const char* op, RowSet rows);
// A copy as f32 of a vector that is empty or has `size` numbers; `why` says where that size comes from.
std::vector<float> copy_vector(const char* op, const char* argument, const Vector& vector, int64_t size, const char* why);
void check_vector(const char* op, const char* argument, const Vector& vector);

}  // namespace v0
}  // namespace saccade
