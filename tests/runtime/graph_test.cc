// What the builder records: shapes, row sets and resolved options. What it refuses is in bad_input_test.cc.
#include "saccade/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "runtime/graph/graph_data.h"
#include "saccade/plan.h"
#include "saccade/version.h"

namespace saccade {
namespace {

const float kWeights[4096] = {};

Weight weight(int64_t in, int64_t out, Layout layout = Layout::kInOut) { return Weight(kWeights, in, out, layout); }
const Node& node(const Graph& graph, Value value) { return graph.data().nodes[value.node]; }

TEST(Graph, AnEncoderLayerHasTheShapesOfItsOps) {
  Graph graph;
  const Value ids = graph.ids("ids");
  const Value x = graph.embedding({{.table = {kWeights, 100, 16}, .ids = ids},
                                   {.table = {kWeights, 50, 16}, .ids = graph.positions(), .offset = 2},
                                   {.table = {kWeights, 2, 16}, .offset = 1}});
  const Value n = graph.layer_norm(x, {kWeights, 16}, {kWeights, 16}, 1e-12f);
  const Value q = graph.linear(n, weight(16, 24)), k = graph.linear(n, weight(16, 12), {kWeights, 12});
  const Value v = graph.linear(n, weight(16, 6));
  const Value a = graph.attention(q, k, v, {.heads = 4, .kv_heads = 2, .weights = true});
  const Value o = graph.add(graph.linear(a, weight(12, 16)), n);
  const Value f = graph.gated(graph.linear(o, weight(16, 32)), graph.linear(o, weight(16, 32)), Activation::kGelu);
  const Value p =
      graph.l2_normalize(graph.pool(graph.linear(graph.activation(f, Activation::kRelu), weight(32, 5)), Pooling::kMean));
  graph.output("vectors", p);
  graph.output("weights", graph.attention_weights(a));
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();

  EXPECT_EQ(node(graph, x).width, 16);
  EXPECT_EQ(node(graph, x).rows, Graph::tokens());
  EXPECT_EQ(node(graph, x).lookups[1].offset, 2);
  EXPECT_EQ(node(graph, x).lookups[2].ids, -1);
  EXPECT_EQ(node(graph, k).bias.size(), 12u);
  const AttentionData& attention = node(graph, a).attention;
  EXPECT_EQ(attention.head_dim, 6);
  EXPECT_EQ(attention.value_dim, 3);
  EXPECT_EQ(attention.kv_heads, 2);
  EXPECT_EQ(attention.scale, 1 / std::sqrt(6.0f));
  EXPECT_EQ(node(graph, a).width, 12);
  EXPECT_EQ(node(graph, f).width, 32);
  EXPECT_EQ(node(graph, p).width, 5);
  EXPECT_EQ(node(graph, p).rows, Graph::sequences());
  EXPECT_EQ(graph.data().outputs.size(), 2u);
}

TEST(Graph, CrossAttentionTakesTheRowsOfItsQueries) {
  Graph graph;
  const RowSet memory = graph.token_set("memory");
  EXPECT_EQ(memory.index, 1);
  const Value x = graph.input("x", 8), m = graph.input("m", 8, memory);
  const Value a = graph.attention(x, m, m, {.heads = 2, .scale = 0.0f, .causal = Causal::kBottomRight, .window_left = 5});
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  EXPECT_EQ(node(graph, a).rows, Graph::tokens());
  EXPECT_EQ(node(graph, a).attention.scale, 0.0f);
  EXPECT_EQ(node(graph, a).attention.window_left, 5);
  EXPECT_FALSE(node(graph, a).attention.window_right.has_value());
  EXPECT_EQ(node(graph, graph.pool(m, Pooling::kMax)).rows, Graph::sequences());
  EXPECT_EQ(node(graph, graph.rope(m, {.heads = 2, .max_positions = 16})).rope.rotary_dim, 4);
  const Value s = graph.input("s", 4, Graph::sequences());
  EXPECT_EQ(node(graph, graph.activation(s, Activation::kTanh)).rows, Graph::sequences());
  EXPECT_TRUE(graph.status().ok()) << graph.status().to_string();
}

TEST(Graph, StridesAreResolvedAndVectorsWidened) {
  Graph graph;
  const Value x = graph.input("x", 6);
  const uint16_t halves[] = {0x3c00, 0xc000, 0x0001, 0x03ff, 0x7c00, 0xfc00, 0x7e01, 0x8000, 0x0400, 0x7bff};
  const float want[] = {1, -2, 0x1p-24f, 0x1.ff8p-15f, INFINITY, -INFINITY, NAN, -0.0f, 0x1p-14f, 65504};
  const Value dense = graph.linear(x, weight(6, 10, Layout::kOutIn), {halves, Dtype::kF16, 10});
  const uint16_t brain[] = {0x3f80, 0xc000, 0x0001, 0x7f80, 0x7fc0, 0x8000};
  const float brain_want[] = {1, -2, 0x1p-133f, INFINITY, NAN, -0.0f};
  const Value strided = graph.linear(x, Weight(kWeights, Dtype::kBf16, 6, 6, Layout::kInOut, 9), {brain, Dtype::kBf16, 6});
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  EXPECT_EQ(node(graph, dense).weight->stride, 6);
  EXPECT_EQ(node(graph, strided).weight->stride, 9);
  const auto same = [](float a, float b) { return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b); };
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(same(node(graph, dense).bias[i], want[i])) << i << ": " << node(graph, dense).bias[i];
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(same(node(graph, strided).bias[i], brain_want[i])) << i;
}

TEST(Graph, VectorsAreCopiedAtTheCall) {
  Graph graph;
  std::vector<float> bias = {1, 2, 3};
  char shifted[13];  // any alignment
  std::memcpy(shifted + 1, bias.data(), 12);
  const Value y = graph.linear(graph.input("x", 2), weight(2, 3), {shifted + 1, Dtype::kF32, 3});
  std::fill(std::begin(shifted), std::end(shifted), 0);
  EXPECT_EQ(node(graph, y).bias, bias);
}

TEST(Graph, KeepsItsFirstErrorAndRecordsNothingAfterIt) {
  Graph graph;
  const Value x = graph.input("x", 8);
  EXPECT_FALSE(graph.linear(x, weight(7, 4)).valid());
  const std::string first = graph.status().message();
  EXPECT_NE(first.find("linear"), std::string::npos) << first;
  EXPECT_FALSE(graph.input("y", 8).valid());
  EXPECT_FALSE(graph.add(x, Value{}).valid());
  graph.output("out", x);
  EXPECT_EQ(graph.status().message(), first);
  EXPECT_EQ(graph.data().nodes.size(), 1u);
  EXPECT_TRUE(graph.data().outputs.empty());
}

TEST(Graph, AMovedGraphIsTheSameGraphAndTheOldOneAnError) {
  Graph graph;
  const Value x = graph.input("x", 8);
  Graph other = std::move(graph);
  EXPECT_TRUE(other.add(x, x).valid());
  EXPECT_FALSE(graph.status().ok());
  EXPECT_FALSE(graph.input("y", 8).valid());
  EXPECT_FALSE(graph.token_set("t").index >= 0);
  graph.output("y", x);
  EXPECT_EQ(Plan::compile(graph).status().code(), Code::kInvalidArgument);
}

TEST(Status, NamesItsCode) {
  EXPECT_EQ(Status().to_string(), "ok");
  EXPECT_EQ(Status(Code::kOutOfRange, "x").to_string(), "out_of_range: x");
  for (int code = 0; code <= static_cast<int>(Code::kInternal); ++code)
    EXPECT_STRNE(code_name(static_cast<Code>(code)), "unknown");
  EXPECT_STREQ(version(), SACCADE_VERSION);
  EXPECT_STREQ(name(Dtype::kBf16), "bf16");
}

}  // namespace
}  // namespace saccade
