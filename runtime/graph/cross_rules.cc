// Rules of the ops that change row sets: attention and pooling.
#include "runtime/graph/attention_rules.h"
#include "runtime/graph/check.h"
#include "runtime/graph/rules.h"

namespace saccade {
inline namespace v0 {
namespace {

int64_t per_head(const char* argument, const Node& node, const char* heads_name, int64_t heads) {
  require(node.width % heads == 0, "attention: ", argument, " has width ", node.width, ", expected a multiple of ", heads_name,
          " = ", heads);
  return node.width / heads;
}

void check_token_rows(const char* op, const char* argument, const Node& node) {
  require(node.rows.index != RowSet::kSequences, op, ": ", argument,
          " has the rows of sequences, expected tokens or a token set");
}

}  // namespace

Node attention_rule(const GraphData& graph, Value q_value, Value k_value, Value v_value, const AttentionOptions& options) {
  const Node& q = matrix_operand(graph, "attention", "q", q_value);
  const Node& k = matrix_operand(graph, "attention", "k", k_value);
  const Node& v = matrix_operand(graph, "attention", "v", v_value);
  check_token_rows("attention", "q", q);
  check_token_rows("attention", "k", k);
  check_token_rows("attention", "v", v);
  check_same_rows(graph, "attention", "k", k, "v", v);

  Node node;
  AttentionData& a = node.attention;
  a.heads = options.heads;
  a.kv_heads = check_heads(options.heads, options.kv_heads);
  a.head_dim = per_head("q", q, "heads", a.heads);
  const int64_t key_dim = per_head("k", k, "kv_heads", a.kv_heads);
  require(key_dim == a.head_dim, "attention: k has head_dim ", key_dim, " (width ", k.width, " / kv_heads ", a.kv_heads,
          "), q has ", a.head_dim, " (width ", q.width, " / heads ", a.heads, ")");
  a.value_dim = per_head("v", v, "kv_heads", a.kv_heads);
  check_scores(options.scale, options.softcap, options.causal, options.window_left, options.window_right);
  a.scale = resolve_scale(options.scale, a.head_dim);
  a.softcap = options.softcap, a.causal = options.causal;
  a.window_left = options.window_left, a.window_right = options.window_right;
  a.alibi_slopes = copy_vector("attention", "alibi_slopes", options.alibi_slopes, a.heads, "heads");
  check_alibi(a.alibi_slopes, a.heads);
  a.relative_bias = copy_vector("attention", "relative_bias", options.relative_bias, options.relative_bias.size, "");
  a.relative_radius = check_relative_bias(a.relative_bias, a.heads);
  a.weights = options.weights;

  node.op = Op::kAttention, node.name = "attention";
  node.inputs = {q_value.node, k_value.node, v_value.node};
  node.rows = q.rows;
  if (!multiply(a.heads, a.value_dim, node.width) || node.width > kMaxWidth) {
    fail(Code::kOutOfRange, "attention: heads * value_dim = ", a.heads, " * ", a.value_dim, ", expected at most ", kMaxWidth);
  }
  return node;
}

Node attention_weights_rule(const GraphData& graph, Value value) {
  const Node& attention = operand(graph, "attention_weights", "attention", value);
  require(attention.op == Op::kAttention, "attention_weights: attention comes from ", op_name(attention.op),
          ", expected a value of attention()");
  require(attention.attention.weights,
          "attention_weights: that attention was built without AttentionOptions::weights, expected true");
  Node node;
  node.op = Op::kAttentionWeights, node.name = "attention_weights";
  node.inputs = {value.node};
  node.rows = attention.rows;
  return node;
}

Node pool_rule(const GraphData& graph, Value value, Pooling kind) {
  const Node& x = matrix_operand(graph, "pool", "x", value);
  check_token_rows("pool", "x", x);
  require(kind <= Pooling::kMax, "pool: kind is ", static_cast<int>(kind), ", which is no value of Pooling");
  Node node;
  node.op = Op::kPool, node.name = "pool";
  node.inputs = {value.node};
  node.width = x.width, node.rows = {RowSet::kSequences};
  node.pooling = kind;
  return node;
}

}  // namespace v0
}  // namespace saccade
