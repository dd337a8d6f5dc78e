// Every mistake that the graph builder can see.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "saccade/graph.h"
#include "tests/runtime/bad_input.h"

namespace saccade {
namespace {

using test::expect_error;
using test::kHuge;
using test::kInf;
using test::kInvalid;
using test::kNan;
using test::kRange;

const float kNumbers[4096] = {};

struct GraphCase {
  std::string name;
  Code code;
  std::vector<std::string> words;
  std::function<void(Graph&, Value x)> build;  // x: tokens, width 8
};

Weight named(int64_t in, int64_t out, int64_t stride = 0, Dtype dtype = Dtype::kF32) {
  return Weight(kNumbers, dtype, in, out, Layout::kInOut, stride, nullptr, "wq");
}
Table table(int64_t rows, int64_t width, int64_t stride = 0) {
  return Table(kNumbers, Dtype::kF32, rows, width, stride, nullptr, "words");
}
AttentionOptions heads(int64_t n, int64_t kv = 0) { return {.heads = n, .kv_heads = kv}; }

const std::vector<GraphCase>& graph_cases() {
  static Graph elsewhere;
  static const Value foreign = elsewhere.input("x", 8);
  static const float slopes[] = {1, kNan};
  static const std::vector<GraphCase> cases = {
      {"input without name", kInvalid, {"input", "name", "empty"}, [](Graph& g, Value) { g.input("", 8); }},
      {"input twice", kInvalid, {"input", "'x'", "already"}, [](Graph& g, Value) { g.input("x", 8); }},
      {"ids as an input", kInvalid, {"ids", "'x'", "already"}, [](Graph& g, Value) { g.ids("x"); }},
      {"width 0", kInvalid, {"input", "width", "'y'", "0", "at least 1"}, [](Graph& g, Value) { g.input("y", 0); }},
      {"width -8", kInvalid, {"input", "width", "-8"}, [](Graph& g, Value) { g.input("y", -8); }},
      {"huge width",
       kRange,
       {"input", "width", "1152921504606846976", "2147483647"},
       [](Graph& g, Value) { g.input("y", kHuge); }},
      {"unknown rows", kInvalid, {"input", "rows", "row set 1", "0 token sets"}, [](Graph& g, Value) { g.input("y", 8, {1}); }},
      {"negative rows", kInvalid, {"ids", "rows", "row set -2"}, [](Graph& g, Value) { g.ids("y", {-2}); }},
      {"positions of sequences",
       kInvalid,
       {"positions", "sequences", "token"},
       [](Graph& g, Value) { g.positions(Graph::sequences()); }},
      {"token set twice", kInvalid, {"token_set", "'m'", "already"}, [](Graph& g, Value) { g.token_set("m"), g.token_set("m"); }},
      {"token set without name", kInvalid, {"token_set", "empty"}, [](Graph& g, Value) { g.token_set(""); }},
      {"too many token sets",
       kRange,
       {"token_set", "at most 64"},
       [](Graph& g, Value) {
         for (int i = 0; i < 70; ++i) g.token_set(std::to_string(i));
       }},

      {"no value", kInvalid, {"add", "b", "no value"}, [](Graph& g, Value x) { g.add(x, {}); }},
      {"foreign value", kInvalid, {"add", "a", "another graph"}, [](Graph& g, Value x) { g.add(foreign, x); }},
      {"forged value",
       kInvalid,
       {"activation", "x", "value 77"},
       [](Graph& g, Value x) {
         g.activation({x.graph, 77}, Activation::kRelu);
       }},
      {"ids as a matrix", kInvalid, {"linear", "x", "ids", "f32"}, [](Graph& g, Value) { g.linear(g.ids("i"), named(1, 8)); }},
      {"positions as an output", kInvalid, {"output", "'p'", "positions"}, [](Graph& g, Value) { g.output("p", g.positions()); }},

      {"no lookups", kInvalid, {"embedding", "0 lookups", "1 to 3"}, [](Graph& g, Value) { g.embedding({}); }},
      {"four lookups",
       kInvalid,
       {"embedding", "4 lookups"},
       [](Graph& g, Value) {
         g.embedding({{}, {}, {}, {}});
       }},
      {"lookup without ids",
       kInvalid,
       {"embedding", "ids", "at least one"},
       [](Graph& g, Value) { g.embedding({{.table = table(4, 8)}}); }},
      {"null table",
       kInvalid,
       {"embedding", "table", "null"},
       [](Graph& g, Value) { g.embedding({{.table = Table(nullptr, 4, 8), .ids = g.ids("i")}}); }},
      {"table of integers",
       kInvalid,
       {"embedding", "dtype i32", "f32, f16 or bf16"},
       [](Graph& g, Value) { g.embedding({{.table = Table(kNumbers, Dtype::kI32, 4, 8), .ids = g.ids("i")}}); }},
      {"table without rows",
       kInvalid,
       {"embedding", "'words'", "rows = 0"},
       [](Graph& g, Value) { g.embedding({{.table = table(0, 8), .ids = g.ids("i")}}); }},
      {"table with a short stride",
       kInvalid,
       {"embedding", "'words'", "stride 7", "8"},
       [](Graph& g, Value) { g.embedding({{.table = table(4, 8, 7), .ids = g.ids("i")}}); }},
      {"table larger than memory",
       kInvalid,
       {"embedding", "'words'", "larger than memory"},
       [](Graph& g, Value) { g.embedding({{.table = table(8, 8, kHuge), .ids = g.ids("i")}}); }},
      {"table with too many rows",
       kRange,
       {"embedding", "'words'", "rows"},
       [](Graph& g, Value) { g.embedding({{.table = table(kHuge, 8), .ids = g.ids("i")}}); }},
      {"tables of two widths",
       kInvalid,
       {"embedding", "width 6", "expected 8"},
       [](Graph& g, Value) {
         g.embedding({{.table = table(4, 8), .ids = g.ids("i")}, {.table = table(4, 6), .ids = g.positions()}});
       }},
      {"offset behind the table",
       kRange,
       {"embedding", "offset", "4", "0 to 3"},
       [](Graph& g, Value) { g.embedding({{.table = table(4, 8), .ids = g.ids("i"), .offset = 4}}); }},
      {"negative offset",
       kRange,
       {"embedding", "offset", "-1"},
       [](Graph& g, Value) { g.embedding({{.table = table(4, 8), .ids = g.ids("i"), .offset = -1}}); }},
      {"a matrix as ids",
       kInvalid,
       {"embedding", "ids", "input"},
       [](Graph& g, Value x) { g.embedding({{.table = table(4, 8), .ids = x}}); }},
      {"ids of two row sets",
       kInvalid,
       {"embedding", "tokens", "'m'"},
       [](Graph& g, Value) {
         g.embedding({{.table = table(4, 8), .ids = g.ids("i")}, {.table = table(4, 8), .ids = g.ids("j", g.token_set("m"))}});
       }},

      {"weight of another width",
       kInvalid,
       {"linear", "'wq'", "in = 7", "width 8"},
       [](Graph& g, Value x) { g.linear(x, named(7, 4)); }},
      {"weight without columns", kInvalid, {"linear", "'wq'", "out = 0"}, [](Graph& g, Value x) { g.linear(x, named(8, 0)); }},
      {"negative weight", kInvalid, {"linear", "'wq'", "in = -8"}, [](Graph& g, Value x) { g.linear(x, named(-8, 4)); }},
      {"overflowing weight",
       kRange,
       {"linear", "'wq'", "out = 1152921504606846976"},
       [](Graph& g, Value x) { g.linear(x, named(8, kHuge)); }},
      {"weight larger than memory",
       kInvalid,
       {"linear", "'wq'", "stride", "larger than memory"},
       [](Graph& g, Value x) { g.linear(x, named(8, 4, kHuge)); }},
      {"null weight",
       kInvalid,
       {"linear", "weight", "null"},
       [](Graph& g, Value x) { g.linear(x, Weight(nullptr, 8, 4, Layout::kInOut)); }},
      {"short weight stride",
       kInvalid,
       {"linear", "'wq'", "stride 3", "4"},
       [](Graph& g, Value x) { g.linear(x, named(8, 4, 3)); }},
      {"negative weight stride",
       kInvalid,
       {"linear", "'wq'", "stride -4"},
       [](Graph& g, Value x) { g.linear(x, named(8, 4, -4)); }},
      {"weight of integers",
       kInvalid,
       {"linear", "'wq'", "dtype i64"},
       [](Graph& g, Value x) { g.linear(x, named(8, 4, 0, Dtype::kI64)); }},
      {"no layout",
       kInvalid,
       {"linear", "layout 9"},
       [](Graph& g, Value x) { g.linear(x, Weight(kNumbers, 8, 4, static_cast<Layout>(9))); }},
      {"bias of another size",
       kInvalid,
       {"linear", "bias 'bq'", "5 numbers", "4"},
       [](Graph& g, Value x) {
         g.linear(x, named(8, 4), {kNumbers, Dtype::kF32, 5, "bq"});
       }},
      {"null bias",
       kInvalid,
       {"linear", "bias", "null", "4"},
       [](Graph& g, Value x) {
         g.linear(x, named(8, 4), {nullptr, 4});
       }},
      {"negative bias",
       kInvalid,
       {"linear", "bias", "-4"},
       [](Graph& g, Value x) {
         g.linear(x, named(8, 4), {kNumbers, -4});
       }},
      {"bias of integers",
       kInvalid,
       {"linear", "bias", "dtype i32"},
       [](Graph& g, Value x) {
         g.linear(x, named(8, 4), {kNumbers, Dtype::kI32, 4});
       }},

      {"no activation",
       kInvalid,
       {"activation", "f is 99"},
       [](Graph& g, Value x) { g.activation(x, static_cast<Activation>(99)); }},
      {"gate of another width",
       kInvalid,
       {"gated", "width 8", "width 6"},
       [](Graph& g, Value x) { g.gated(x, g.input("y", 6), Activation::kSilu); }},
      {"sum of two widths", kInvalid, {"add", "width 8", "width 6"}, [](Graph& g, Value x) { g.add(x, g.input("y", 6)); }},
      {"sum of two row sets",
       kInvalid,
       {"add", "tokens", "sequences"},
       [](Graph& g, Value x) { g.add(x, g.input("y", 8, Graph::sequences())); }},
      {"NaN eps", kInvalid, {"layer_norm", "eps is nan"}, [](Graph& g, Value x) { g.layer_norm(x, {}, {}, kNan); }},
      {"negative eps", kInvalid, {"rms_norm", "eps is -1"}, [](Graph& g, Value x) { g.rms_norm(x, {}, -1); }},
      {"infinite eps", kInvalid, {"l2_normalize", "eps is inf"}, [](Graph& g, Value x) { g.l2_normalize(x, kInf); }},
      {"gain of another size",
       kInvalid,
       {"layer_norm", "gain", "7 numbers", "expected 8"},
       [](Graph& g, Value x) {
         g.layer_norm(x, {kNumbers, 7}, {}, 0);
       }},
      {"bias of a group",
       kInvalid,
       {"layer_norm", "bias", "8 numbers", "expected 4"},
       [](Graph& g, Value x) {
         g.layer_norm(x, {}, {kNumbers, 8}, 0, 2);
       }},
      {"groups that do not divide",
       kInvalid,
       {"rms_norm", "groups is 3", "8"},
       [](Graph& g, Value x) { g.rms_norm(x, {}, 0, 3); }},
      {"no groups", kInvalid, {"rms_norm", "groups is 0"}, [](Graph& g, Value x) { g.rms_norm(x, {}, 0, 0); }},
      {"rope heads", kInvalid, {"rope", "heads is 3", "8"}, [](Graph& g, Value x) { g.rope(x, {.heads = 3}); }},
      {"odd rope",
       kInvalid,
       {"rope", "rotary_dim is 3", "even"},
       [](Graph& g, Value x) { g.rope(x, {.heads = 2, .rotary_dim = 3}); }},
      {"wide rope",
       kInvalid,
       {"rope", "rotary_dim is 6", "4"},
       [](Graph& g, Value x) { g.rope(x, {.heads = 2, .rotary_dim = 6}); }},
      {"scale of rope",
       kInvalid,
       {"rope", "scale is 0", "positive"},
       [](Graph& g, Value x) { g.rope(x, {.heads = 2, .scale = 0}); }},
      {"odd head of rope", kInvalid, {"rope", "rotary_dim is 1"}, [](Graph& g, Value x) { g.rope(x, {.heads = 8}); }},
      {"rope base", kInvalid, {"rope", "base is nan"}, [](Graph& g, Value x) { g.rope(x, {.base = kNan}); }},
      {"rope positions", kInvalid, {"rope", "max_positions is 0"}, [](Graph& g, Value x) { g.rope(x, {.max_positions = 0}); }},
      {"rope on sequences",
       kInvalid,
       {"rope", "sequences"},
       [](Graph& g, Value) { g.rope(g.input("y", 8, Graph::sequences()), {}); }},

      {"heads of 0", kInvalid, {"attention", "heads is 0"}, [](Graph& g, Value x) { g.attention(x, x, x, heads(0)); }},
      {"heads that do not divide",
       kInvalid,
       {"attention", "q", "width 8", "heads = 3"},
       [](Graph& g, Value x) { g.attention(x, x, x, heads(3)); }},
      {"kv_heads that do not divide",
       kInvalid,
       {"attention", "kv_heads is 3", "heads = 4"},
       [](Graph& g, Value x) { g.attention(x, x, x, heads(4, 3)); }},
      {"negative kv_heads",
       kInvalid,
       {"attention", "kv_heads is -1"},
       [](Graph& g, Value x) { g.attention(x, x, x, heads(4, -1)); }},
      {"head_dim of k",
       kInvalid,
       {"attention", "k", "head_dim 4", "2"},
       [](Graph& g, Value x) { g.attention(x, x, x, heads(4, 2)); }},
      {"rows of v",
       kInvalid,
       {"attention", "k", "tokens", "v", "'m'"},
       [](Graph& g, Value x) { g.attention(x, x, g.input("m", 8, g.token_set("m")), {}); }},
      {"attention of sequences",
       kInvalid,
       {"attention", "q", "sequences"},
       [](Graph& g, Value x) { g.attention(g.input("s", 8, Graph::sequences()), x, x, {}); }},
      {"NaN scale", kInvalid, {"attention", "scale is nan"}, [](Graph& g, Value x) { g.attention(x, x, x, {.scale = kNan}); }},
      {"negative scale",
       kInvalid,
       {"attention", "scale is -0.5"},
       [](Graph& g, Value x) { g.attention(x, x, x, {.scale = -0.5f}); }},
      {"infinite softcap",
       kInvalid,
       {"attention", "softcap is inf"},
       [](Graph& g, Value x) { g.attention(x, x, x, {.softcap = kInf}); }},
      {"negative softcap",
       kInvalid,
       {"attention", "softcap is -2"},
       [](Graph& g, Value x) { g.attention(x, x, x, {.softcap = -2}); }},
      {"no causal",
       kInvalid,
       {"attention", "causal is 7"},
       [](Graph& g, Value x) { g.attention(x, x, x, {.causal = static_cast<Causal>(7)}); }},
      {"negative window",
       kInvalid,
       {"attention", "window_left is -1"},
       [](Graph& g, Value x) { g.attention(x, x, x, {.window_left = -1}); }},
      {"alibi of another size",
       kInvalid,
       {"attention", "alibi_slopes", "3", "2"},
       [](Graph& g, Value x) { g.attention(x, x, x, {.heads = 2, .alibi_slopes = {kNumbers, 3}}); }},
      {"NaN in alibi",
       kInvalid,
       {"attention", "alibi_slopes[1]", "nan"},
       [](Graph& g, Value x) { g.attention(x, x, x, {.heads = 2, .alibi_slopes = {slopes, 2}}); }},
      {"even relative bias",
       kInvalid,
       {"attention", "relative_bias", "12", "heads = 2"},
       [](Graph& g, Value x) { g.attention(x, x, x, {.heads = 2, .relative_bias = {kNumbers, 12}}); }},
      {"weights not asked for",
       kInvalid,
       {"attention_weights", "weights", "true"},
       [](Graph& g, Value x) { g.attention_weights(g.attention(x, x, x, {})); }},
      {"weights of a linear",
       kInvalid,
       {"attention_weights", "input", "attention"},
       [](Graph& g, Value x) { g.attention_weights(x); }},
      {"weights as an operand",
       kInvalid,
       {"activation", "attention_weights"},
       [](Graph& g, Value x) { g.activation(g.attention_weights(g.attention(x, x, x, {.weights = true})), Activation::kRelu); }},
      {"pooled twice",
       kInvalid,
       {"pool", "x", "sequences"},
       [](Graph& g, Value x) { g.pool(g.pool(x, Pooling::kMean), Pooling::kMean); }},
      {"no pooling", kInvalid, {"pool", "kind is 9"}, [](Graph& g, Value x) { g.pool(x, static_cast<Pooling>(9)); }},
      {"output twice", kInvalid, {"output", "'y'", "already"}, [](Graph& g, Value x) { g.output("y", x), g.output("y", x); }},
      {"output without name", kInvalid, {"output", "empty"}, [](Graph& g, Value x) { g.output("", x); }},
      {"output of no value", kInvalid, {"output", "'y'", "no value"}, [](Graph& g, Value) { g.output("y", {}); }},
  };
  return cases;
}

TEST(BadInput, Graph) {
  for (const GraphCase& c : graph_cases()) {
    Graph graph;
    const Value x = graph.input("x", 8);
    c.build(graph, x);
    expect_error(graph.status(), c.code, c.words, c.name);
  }
}

}  // namespace
}  // namespace saccade
