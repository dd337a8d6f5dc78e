// What all rules share: operands, row sets, vectors, inputs and outputs.
#include "runtime/graph/rules.h"

#include "runtime/graph/batch_data.h"
#include "runtime/graph/check.h"
#include "runtime/graph/widen.h"

namespace saccade {
inline namespace v0 {

const char* op_name(Op op) {
  switch (op) {
    case Op::kInput:
      return "input";
    case Op::kIds:
      return "ids";
    case Op::kPositions:
      return "positions";
    case Op::kEmbedding:
      return "embedding";
    case Op::kLinear:
      return "linear";
    case Op::kActivation:
      return "activation";
    case Op::kGated:
      return "gated";
    case Op::kAdd:
      return "add";
    case Op::kNorm:
      return "norm";
    case Op::kL2Normalize:
      return "l2_normalize";
    case Op::kRope:
      return "rope";
    case Op::kAttention:
      return "attention";
    case Op::kAttentionWeights:
      return "attention_weights";
    case Op::kPool:
      return "pool";
  }
  return "unknown";
}

std::string row_set_name(const GraphData& graph, RowSet rows) {
  if (rows.index == RowSet::kSequences) return "sequences";
  if (rows.index == 0) return "tokens";
  if (rows.index > 0 && static_cast<size_t>(rows.index) <= graph.token_sets.size())
    return text("token set '", graph.token_sets[rows.index - 1], "'");
  return text("row set ", rows.index);
}

void check_rows(const GraphData& graph, const char* op, RowSet rows) {
  const int64_t sets = static_cast<int64_t>(graph.token_sets.size());
  require(rows.index >= RowSet::kSequences && rows.index <= sets, op, ": rows is row set ", rows.index,
          ", expected -1 (sequences), 0 (tokens) or one of the ", sets, " token sets of this graph");
}

const Node& operand(const GraphData& graph, const char* op, const char* argument, Value value) {
  require(value.valid(), op, ": ", argument, " is no value (default-constructed, or of a call that failed)");
  require(value.graph == graph.id, op, ": ", argument, " is a value of another graph");
  require(static_cast<size_t>(value.node) < graph.nodes.size(), op, ": ", argument, " is value ", value.node, ", the graph has ",
          graph.nodes.size());
  return graph.nodes[value.node];
}

const Node& matrix_operand(const GraphData& graph, const char* op, const char* argument, Value value) {
  const Node& node = operand(graph, op, argument, value);
  const bool numbers = node.op != Op::kIds && node.op != Op::kPositions && node.op != Op::kAttentionWeights;
  require(numbers, op, ": ", argument, " comes from ", op_name(node.op), ", expected a matrix of f32");
  return node;
}

void check_same_rows(const GraphData& graph, const char* op, const char* a_name, const Node& a, const char* b_name,
                     const Node& b) {
  require(a.rows == b.rows, op, ": ", a_name, " has the rows of ", row_set_name(graph, a.rows), ", ", b_name, " those of ",
          row_set_name(graph, b.rows), "; expected the same");
}

void check_vector(const char* op, const char* argument, const Vector& vector) {
  require(vector.size >= 0, op, ": ", argument, " '", vector.name, "' has size ", vector.size, ", expected 0 or more");
  require(vector.size == 0 || vector.data != nullptr, op, ": ", argument, " '", vector.name, "' has null data and size ",
          vector.size);
  const bool floats = vector.dtype == Dtype::kF32 || vector.dtype == Dtype::kF16 || vector.dtype == Dtype::kBf16;
  require(floats, op, ": ", argument, " '", vector.name, "' has dtype ", name(vector.dtype), ", expected f32, f16 or bf16");
}

std::vector<float> copy_vector(const char* op, const char* argument, const Vector& vector, int64_t size, const char* why) {
  check_vector(op, argument, vector);
  if (vector.size == 0) return {};
  require(vector.size == size, op, ": ", argument, " '", vector.name, "' has ", vector.size, " numbers, expected ", size, " (",
          why, ")");
  std::vector<float> copy(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) copy[i] = widen(vector.data, vector.dtype, i);
  return copy;
}

// -------------------------------------------------------------------------------------------------- inputs and outputs

namespace {
void check_input_name(const GraphData& graph, const char* op, const std::string& name) {
  require(!name.empty(), op, ": name is empty");
  for (const Node& node : graph.nodes) {
    const bool input = node.op == Op::kInput || node.op == Op::kIds;
    require(!input || node.name != name, op, ": the graph has an input '", name, "' already");
  }
}
}  // namespace

Node input_rule(const GraphData& graph, std::string name, int64_t width, RowSet rows) {
  check_input_name(graph, "input", name);
  check_rows(graph, "input", rows);
  require(width >= 1, "input: width of '", name, "' is ", width, ", expected at least 1");
  if (width > kMaxWidth) fail(Code::kOutOfRange, "input: width of '", name, "' is ", width, ", expected at most ", kMaxWidth);
  Node node;
  node.op = Op::kInput, node.name = std::move(name), node.width = width, node.rows = rows;
  return node;
}

Node ids_rule(const GraphData& graph, std::string name, RowSet rows) {
  check_input_name(graph, "ids", name);
  check_rows(graph, "ids", rows);
  Node node;
  node.op = Op::kIds, node.name = std::move(name), node.width = 1, node.rows = rows;
  return node;
}

Node positions_rule(const GraphData& graph, RowSet rows) {
  check_rows(graph, "positions", rows);
  require(rows.index != RowSet::kSequences, "positions: rows is sequences, expected tokens or a token set");
  Node node;
  node.op = Op::kPositions, node.name = "positions", node.width = 1, node.rows = rows;
  return node;
}

void token_set_rule(const GraphData& graph, const std::string& name) {
  require(!name.empty(), "token_set: name is empty");
  for (const std::string& other : graph.token_sets)
    require(other != name, "token_set: the graph has a token set '", name, "' already");
  const int64_t sets = static_cast<int64_t>(graph.token_sets.size());
  if (sets >= kMaxTokenSets) fail(Code::kOutOfRange, "token_set: '", name, "' is one too many, expected at most ", kMaxTokenSets);
}

OutputData output_rule(const GraphData& graph, std::string name, Value value) {
  require(!name.empty(), "output: name is empty");
  for (const OutputData& other : graph.outputs)
    require(other.name != name, "output: the graph has an output '", name, "' already");
  const Node& node = operand(graph, "output", text("value of '", name, "'").c_str(), value);
  require(node.op != Op::kIds && node.op != Op::kPositions, "output: '", name, "' comes from ", op_name(node.op),
          ", expected a matrix of f32 or attention weights");
  return {std::move(name), value.node};
}

Status check_complete(const GraphData& graph) {
  if (!graph.status.ok()) return graph.status;
  return caught([&] {
    require(!graph.outputs.empty(), "graph: there is no output, expected at least one call of output()");
    std::vector<bool> used(graph.nodes.size());
    for (const OutputData& output : graph.outputs) used[output.node] = true;
    for (size_t n = graph.nodes.size(); n-- > 0;) {  // operands come before their users
      if (!used[n]) continue;
      for (int32_t input : graph.nodes[n].inputs) used[input] = true;
    }
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      const bool input = node.op == Op::kInput || node.op == Op::kIds;
      require(!input || used[n], "graph: ", op_name(node.op), " '", node.name,
              "' reaches no output, expected every input to be used");
    }
  });
}

}  // namespace v0
}  // namespace saccade
