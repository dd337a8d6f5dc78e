// Part 1: five tokens, two of them padding, through a graph and through attention(), beside the numbers that were printed for
// it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tools/console.h"
#include "tools/demo.h"

namespace saccade::tool {
namespace {

ConstMatrix view(const Tensor& t) { return {t.values.data(), t.shape[0], t.shape[1]}; }
Matrix view(Tensor& t) { return {t.values.data(), t.shape[0], t.shape[1]}; }
Weight weight(const Tensor& t) { return {t.values.data(), t.shape[0], t.shape[1], Layout::kInOut}; }

Tensor zeros(int64_t rows, int64_t columns) { return {{rows, columns}, std::vector<float>(static_cast<size_t>(rows * columns))}; }

// One sequence, one head: queries and keys are the rows of Q, K and V.
AttentionArgs arguments(const Tensors& t) {
  const Tensor &q = t.at("Q"), &k = t.at("K"), &v = t.at("V");
  AttentionArgs args;
  args.batch = 1;
  args.queries = q.shape[0];
  args.keys = k.shape[0];
  args.head_dim = q.shape[1];
  args.value_dim = v.shape[1];
  args.q = bshd(q.values.data(), args.queries, 1, args.head_dim);
  args.k = bshd(k.values.data(), args.keys, 1, args.head_dim);
  args.v = bshd(v.values.data(), args.keys, 1, args.value_dim);
  return args;
}

// q.k of every pair, the weights under the padding mask, and the outputs.
void attend(Tensors& t, const Example& example, Workspace& workspace) {
  AttentionArgs args = arguments(t);
  const int64_t n = args.queries;
  Tensor scores = zeros(n, n), weights = zeros(n, n), output = zeros(n, args.value_dim);
  args.out = bshd(output.values.data(), n, 1, args.value_dim);
  args.mask = {example.pad_mask.data(), {1, 1, 1, n}};
  args.scores = scores.values.data();
  args.weights = weights.values.data();
  check(attention(args, workspace));

  t["pad_mask"] = {{n}, std::vector<float>(args.mask.data, args.mask.data + n)};
  t["sqrt_d"] = {{}, {std::sqrt(static_cast<float>(args.head_dim))}};
  Tensor sums{{n}, {}};
  for (int64_t i = 0; i < n; ++i) {
    const float* row = args.weights + i * n;
    sums.values.push_back(std::accumulate(row, row + n, 0.0f));
  }
  t["weights_row_sum"] = std::move(sums);
  t["scores"] = std::move(scores);
  t["weights"] = std::move(weights);
  t["output"] = std::move(output);
}

// The scores after the scale and the bias of each key (empty: none). The LSE of a query that sees one key only is that score, so
// every key is in turn the only one.
Tensor scaled_scores(const Tensors& t, const std::vector<float>& bias, Workspace& workspace) {
  AttentionArgs args = arguments(t);
  const int64_t n = args.queries;
  Tensor scaled = zeros(n, n), unused = zeros(n, args.value_dim);
  std::vector<float> lse(static_cast<size_t>(n));
  std::vector<uint8_t> only(static_cast<size_t>(n));
  args.out = bshd(unused.values.data(), n, 1, args.value_dim);
  args.mask = {only.data(), {1, 1, 1, n}};
  if (!bias.empty()) args.bias = {bias.data(), {1, 1, 1, n}};
  args.lse = lse.data();
  for (int64_t j = 0; j < n; ++j) {
    std::fill(only.begin(), only.end(), uint8_t{0});
    only[static_cast<size_t>(j)] = 1;
    check(attention(args, workspace));
    for (int64_t i = 0; i < n; ++i) scaled.values[static_cast<size_t>(i * n + j)] = lse[static_cast<size_t>(i)];
  }
  return scaled;
}

// The weight of a key with bias `fill` beside an equal one with bias 0.
Tensor weight_of_fill(float fill, Workspace& workspace) {
  const float ones[2] = {1, 1}, bias[2] = {0, fill};
  float out = 0, weights[2];
  AttentionArgs args;
  args.batch = args.queries = args.head_dim = 1;
  args.keys = 2;
  args.q = bshd(ones, 1, 1, 1);
  args.k = args.v = bshd(ones, 2, 1, 1);
  args.out = bshd(&out, 1, 1, 1);
  args.bias = {bias, {1, 1, 1, 2}};
  args.weights = weights;
  check(attention(args, workspace));
  return {{}, {weights[1]}};
}

}  // namespace

ExampleRun run_example(const Example& example, const Setup& setup) {
  const int64_t tokens = example.x.shape[0];
  ExampleRun run;
  Tensors& t = run.tensors;
  t["X"] = example.x, t["Wq"] = example.wq, t["Wk"] = example.wk, t["Wv"] = example.wv;

  Graph graph;
  const Value x = graph.input("x", example.x.shape[1]);
  const Value q = graph.linear(x, weight(t["Wq"])), k = graph.linear(x, weight(t["Wk"])), v = graph.linear(x, weight(t["Wv"]));
  graph.output("Q", q);
  graph.output("K", k);
  graph.output("V", v);
  graph.output("output", graph.attention(q, k, v, {.heads = 1}));

  // All rows, padding too, as live tokens: that is how the printed example was computed.
  const Plan project = take(Plan::compile(graph, {.isa = setup.isa, .outputs = {"Q", "K", "V"}}));
  Context projection = take(Context::create(project, {.threads = setup.threads, .executor = setup.executor}));
  t["Q"] = zeros(tokens, example.wq.shape[1]);
  t["K"] = zeros(tokens, example.wk.shape[1]);
  t["V"] = zeros(tokens, example.wv.shape[1]);
  Batch batch;
  const int64_t lengths[] = {tokens};
  batch.assign_lengths(lengths);
  check(projection.run(batch, {{"x", packed(view(std::as_const(t["X"])))}},
                       {{"Q", packed(view(t["Q"]))}, {"K", packed(view(t["K"]))}, {"V", packed(view(t["V"]))}}));
  Workspace workspace = take(Workspace::create({.threads = setup.threads, .executor = setup.executor, .isa = setup.isa.c_str()}));
  attend(t, example, workspace);

  std::vector<float> bias;
  for (const uint8_t keep : example.pad_mask) bias.push_back(keep != 0 ? 0.0f : example.mask_fill);
  t["scaled"] = scaled_scores(t, {}, workspace);
  t["scaled_masked"] = scaled_scores(t, bias, workspace);
  t["mask_fill"] = {{}, {*std::min_element(bias.begin(), bias.end())}};
  t["exp_of_fill"] = weight_of_fill(t["mask_fill"].values[0], workspace);
  run.max_error = error_against_expected(example, t);

  // The graph as a program would run it: padding is dropped on the way in and zeros come out.
  const Plan whole = take(Plan::compile(graph, {.isa = setup.isa, .outputs = {"output"}}));
  Context context = take(Context::create(whole, {.threads = setup.threads, .executor = setup.executor}));
  batch.assign_mask(example.pad_mask.data(), {.sequences = 1, .max_length = tokens});
  Tensor masked = zeros(tokens, example.wv.shape[1]);
  std::fill(masked.values.begin(), masked.values.end(), std::nanf(""));
  check(context.run(batch, {{"x", padded(view(std::as_const(t["X"])))}}, {{"output", padded(view(masked))}}));
  const int64_t width = masked.shape[1];
  for (size_t i = 0; i < masked.values.size(); ++i) {
    const bool live = example.pad_mask[i / static_cast<size_t>(width)] != 0;
    const double want = live ? static_cast<double>(t["output"].values[i]) : 0.0;
    run.graph_error = std::max(run.graph_error, difference(masked.values[i], want));
  }
  return run;
}

namespace {

template <class Format>
void print_matrix(const Example& example, const Tensor& t, bool token_columns, Format format) {
  TextTable table;
  std::vector<Cell> head = {""};
  for (int64_t c = 0; c < t.shape[1]; ++c)
    head.push_back(token_columns ? example.tokens[static_cast<size_t>(c)] : fmt::format("[{}]", c));
  table.add(head);
  for (int64_t r = 0; r < t.shape[0]; ++r) {
    std::vector<Cell> row = {example.tokens[static_cast<size_t>(r)]};
    for (int64_t c = 0; c < t.shape[1]; ++c) row.push_back(format(t.values[static_cast<size_t>(r * t.shape[1] + c)]));
    table.add(row);
  }
  table.print();
}

}  // namespace

void print_example(const Example& example, const ExampleRun& run, const Reproduction& reproduction) {
  const Tensors& t = run.tensors;
  const auto live = std::count(example.pad_mask.begin(), example.pad_mask.end(), 1);
  const auto number = [](float x) { return Cell(fmt::format("{:.3f}", static_cast<double>(x))); };
  const int64_t tokens = t.at("X").shape[0], d = t.at("Q").shape[1];
  fmt::print("\n1. A worked example: {} tokens, {} of them padding, d = {}\n", tokens, tokens - live, d);
  fmt::print("\nScores q·k (row: query, column: key)\n");
  print_matrix(example, t.at("scores"), true, number);
  fmt::print("\nScaled by 1/sqrt({})\n", d);
  print_matrix(example, t.at("scaled"), true, number);
  fmt::print("\nAttention weights: softmax over the keys that are not padding\n");
  print_matrix(example, t.at("weights"), true, [](float x) { return shaded(static_cast<double>(x), 3); });
  fmt::print("\nOutputs: weights times V\n");
  print_matrix(example, t.at("output"), false, number);
  fmt::print("\nPrinted numbers reproduced: {} of {}", reproduction.all.reproduced, reproduction.all.printed);
  const char* separator = " (";
  for (const auto& [group, count] : reproduction.groups) {
    fmt::print("{}{} {} of {}", separator, group, count.reproduced, count.printed);
    separator = ", ";
  }
  fmt::print(")\nLargest difference from float64: {:.1e}\n", run.max_error);
  fmt::print("The graph, run with the padding mask, gives the same live rows (largest difference {:.1e}) and zeros elsewhere\n",
             run.graph_error);
}

}  // namespace saccade::tool
