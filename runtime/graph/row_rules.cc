// Rules of the ops that work row by row.
#include <cmath>

#include "runtime/graph/check.h"
#include "runtime/graph/rules.h"

namespace saccade {
inline namespace v0 {
namespace {

bool is_float(Dtype dtype) { return dtype == Dtype::kF32 || dtype == Dtype::kF16 || dtype == Dtype::kBf16; }

void check_activation(const char* op, Activation f) {
  require(f <= Activation::kSigmoid, op, ": f is ", static_cast<int>(f), ", which is no value of Activation");
}
void check_eps(const char* op, float eps) {
  require(std::isfinite(eps) && eps >= 0, op, ": eps is ", eps, ", expected a finite number that is not negative");
}

// A matrix of the caller, rows x width with `stride` (0: width): returns the stride. Its last byte must be addressable, and so
// must what a packed copy in f32 takes (`padding` more columns).
int64_t check_memory(const char* op, const char* what, const std::string& name, const void* data, Dtype dtype, int64_t rows,
                     int64_t width, int64_t stride) {
  constexpr int64_t kPadding = 64;  // more than any panel is wide
  require(data != nullptr, op, ": ", what, " '", name, "' has null data");
  require(is_float(dtype), op, ": ", what, " '", name, "' has dtype ", saccade::name(dtype), ", expected f32, f16 or bf16");
  require(stride == 0 || stride >= width, op, ": ", what, " '", name, "' has stride ", stride,
          ", expected 0 (dense) or at least ", width);
  if (stride == 0) stride = width;
  const bool fits = stride < INT64_MAX - kPadding && product_fits({rows + kPadding, stride + kPadding, 4});
  require(fits, op, ": ", what, " '", name, "' of ", rows, " rows with stride ", stride, " is larger than memory can be");
  return stride;
}

void check_size(const char* op, const char* what, const std::string& name, const char* dimension, int64_t size) {
  require(size >= 1, op, ": ", what, " '", name, "' has ", dimension, " = ", size, ", expected at least 1");
  if (size > kMaxWidth)
    fail(Code::kOutOfRange, op, ": ", what, " '", name, "' has ", dimension, " = ", size, ", expected at most ", kMaxWidth);
}

Node row_node(Op op, const char* name, Value x, const Node& like) {
  Node node;
  node.op = op, node.name = name, node.inputs = {x.node}, node.width = like.width, node.rows = like.rows;
  return node;
}

}  // namespace

Node embedding_rule(const GraphData& graph, std::span<const Lookup> lookups) {
  constexpr size_t kMaxLookups = 3;
  require(!lookups.empty() && lookups.size() <= kMaxLookups, "embedding: ", lookups.size(), " lookups, expected 1 to ",
          kMaxLookups);
  Node node;
  node.op = Op::kEmbedding;
  const Node* first = nullptr;  // of the ids
  for (const Lookup& lookup : lookups) {
    const Table& t = lookup.table;
    check_size("embedding", "table", t.name, "rows", t.rows);
    check_size("embedding", "table", t.name, "width", t.width);
    const int64_t stride = check_memory("embedding", "table", t.name, t.data, t.dtype, t.rows, t.width, t.stride);
    if (node.lookups.empty()) node.width = t.width, node.name = t.name.empty() ? "embedding" : t.name;
    require(t.width == node.width, "embedding: table '", t.name, "' has width ", t.width, ", expected ", node.width,
            " as the first table '", lookups[0].table.name, "'");
    if (lookup.offset < 0 || lookup.offset >= t.rows) {
      fail(Code::kOutOfRange, "embedding: offset into table '", t.name, "' is ", lookup.offset, ", expected 0 to ", t.rows - 1);
    }
    LookupData data{t, -1, lookup.offset};
    data.table.stride = stride;
    if (lookup.ids.graph != 0 || lookup.ids.valid()) {
      const Node& ids = operand(graph, "embedding", "ids", lookup.ids);
      require(ids.op == Op::kIds || ids.op == Op::kPositions, "embedding: ids of table '", t.name, "' come from ",
              op_name(ids.op), ", expected ids or positions");
      if (first != nullptr) check_same_rows(graph, "embedding", "the first ids", *first, "later ids", ids);
      if (first == nullptr) first = &ids, node.rows = ids.rows;
      data.ids = lookup.ids.node;
      node.inputs.push_back(data.ids);
    }
    node.lookups.push_back(std::move(data));
  }
  require(first != nullptr, "embedding: no lookup has ids, expected at least one (they give the rows)");
  return node;
}

Node linear_rule(const GraphData& graph, Value value, const Weight& weight, const Vector& bias) {
  const Node& x = matrix_operand(graph, "linear", "x", value);
  check_size("linear", "weight", weight.name, "in", weight.in);
  check_size("linear", "weight", weight.name, "out", weight.out);
  require(weight.layout <= Layout::kOutIn, "linear: weight '", weight.name, "' has layout ", static_cast<int>(weight.layout),
          ", which is no value of Layout");
  require(weight.in == x.width, "linear: weight '", weight.name, "' has in = ", weight.in, ", x has width ", x.width);
  const bool in_out = weight.layout == Layout::kInOut;
  const int64_t rows = in_out ? weight.in : weight.out, width = in_out ? weight.out : weight.in;
  const int64_t stride = check_memory("linear", "weight", weight.name, weight.data, weight.dtype, rows, width, weight.stride);
  Node node = row_node(Op::kLinear, weight.name.empty() ? "linear" : weight.name.c_str(), value, x);
  node.width = weight.out;
  node.weight = weight;
  node.weight->stride = stride;
  node.bias = copy_vector("linear", "bias", bias, weight.out, "out of the weight");
  return node;
}

Node activation_rule(const GraphData& graph, Value value, Activation f) {
  const Node& x = matrix_operand(graph, "activation", "x", value);
  check_activation("activation", f);
  Node node = row_node(Op::kActivation, "activation", value, x);
  node.f = f;
  return node;
}

Node gated_rule(const GraphData& graph, Value gate, Value up, Activation f) {
  const Node& a = matrix_operand(graph, "gated", "gate", gate);
  const Node& b = matrix_operand(graph, "gated", "up", up);
  check_activation("gated", f);
  check_same_rows(graph, "gated", "gate", a, "up", b);
  require(a.width == b.width, "gated: gate has width ", a.width, ", up has width ", b.width, "; expected the same");
  Node node = row_node(Op::kGated, "gated", gate, a);
  node.inputs.push_back(up.node);
  node.f = f;
  return node;
}

Node add_rule(const GraphData& graph, Value left, Value right) {
  const Node& a = matrix_operand(graph, "add", "a", left);
  const Node& b = matrix_operand(graph, "add", "b", right);
  check_same_rows(graph, "add", "a", a, "b", b);
  require(a.width == b.width, "add: a has width ", a.width, ", b has width ", b.width, "; expected the same");
  Node node = row_node(Op::kAdd, "add", left, a);
  node.inputs.push_back(right.node);
  return node;
}

Node norm_rule(const GraphData& graph, Value value, const Vector& gain, const Vector* bias, float eps, int64_t groups, bool rms) {
  const char* op = rms ? "rms_norm" : "layer_norm";
  const Node& x = matrix_operand(graph, op, "x", value);
  check_eps(op, eps);
  require(groups >= 1 && x.width % groups == 0, op, ": groups is ", groups, ", expected a divisor of the width of x, ", x.width);
  Node node = row_node(Op::kNorm, op, value, x);
  node.gain = copy_vector(op, "gain", gain, x.width / groups, "width of x / groups");
  if (bias != nullptr) node.bias = copy_vector(op, "bias", *bias, x.width / groups, "width of x / groups");
  node.rms = rms, node.eps = eps, node.groups = groups;
  return node;
}

Node l2_normalize_rule(const GraphData& graph, Value value, float eps) {
  const Node& x = matrix_operand(graph, "l2_normalize", "x", value);
  check_eps("l2_normalize", eps);
  Node node = row_node(Op::kL2Normalize, "l2_normalize", value, x);
  node.eps = eps;
  return node;
}

Node rope_rule(const GraphData& graph, Value value, const RopeOptions& options) {
  const Node& x = matrix_operand(graph, "rope", "x", value);
  require(x.rows.index != RowSet::kSequences,
          "rope: x has the rows of sequences, expected tokens or a token set (rows with positions)");
  require(options.heads >= 1 && x.width % options.heads == 0, "rope: heads is ", options.heads,
          ", expected a divisor of the width of x, ", x.width);
  const int64_t head_dim = x.width / options.heads;
  const int64_t rotary_dim = options.rotary_dim == 0 ? head_dim : options.rotary_dim;
  require(rotary_dim >= 2 && rotary_dim % 2 == 0 && rotary_dim <= head_dim, "rope: rotary_dim is ", rotary_dim,
          ", expected an even number up to the head_dim of x, ", head_dim);
  require(std::isfinite(options.base) && options.base > 0, "rope: base is ", options.base, ", expected a positive finite number");
  require(std::isfinite(options.scale) && options.scale > 0, "rope: scale is ", static_cast<float>(options.scale),
          ", expected a positive finite number");
  require(options.max_positions >= 1, "rope: max_positions is ", options.max_positions, ", expected at least 1");
  if (options.max_positions > INT32_MAX) {
    fail(Code::kOutOfRange, "rope: max_positions is ", options.max_positions, ", expected at most ", INT32_MAX);
  }
  Node node = row_node(Op::kRope, "rope", value, x);
  node.rope = options;
  node.rope.rotary_dim = rotary_dim;
  return node;
}

}  // namespace v0
}  // namespace saccade
