// Part (a): five tokens, two of them padding, through a graph and through attention(), beside the numbers that were printed for
// it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string_view>

#include "tools/console.h"
#include "tools/demo.h"

namespace saccade::tool {

extern const char kSeedExample[];  // cmake/embed.cmake
extern const unsigned long kSeedExampleSize;

namespace {

// ------------------------------------------------------------------------------------------------------------ reading

// Members of the file; every message names the file and the member.
class Reader {
 public:
  Reader(const Json& json, std::string source) : json_(json), source_(std::move(source)) {}

  [[noreturn]] void fail(const std::string& what) const { throw Failure(kFailure, source_ + ": " + what); }

  const Json& member(const Json& object, const std::string& name) const {
    if (!object.is_object() || !object.contains(name)) fail("\"" + name + "\" is missing");
    return object[name];
  }
  const Json& member(const std::string& name) const { return member(json_, name); }

  float number(const Json& value, const std::string& name) const {
    if (!value.is_number()) fail("\"" + name + "\" should be a number");
    return value.get<float>();
  }

  // [rows][columns], every row as wide as the first.
  Tensor matrix(const Json& value, const std::string& name) const {
    if (!value.is_array() || value.empty()) fail("\"" + name + "\" should be a matrix");
    Tensor tensor;
    tensor.shape = {static_cast<int64_t>(value.size()), static_cast<int64_t>(value[0].size())};
    for (size_t r = 0; r < value.size(); ++r) {
      if (!value[r].is_array() || value[r].empty() || value[r].size() != value[0].size()) {
        fail(fmt::format("\"{}\" row {} has {} numbers, expected {}", name, r, value[r].is_array() ? value[r].size() : 0,
                         value[0].size()));
      }
      for (const Json& x : value[r]) tensor.values.push_back(number(x, name));
    }
    return tensor;
  }
  Tensor matrix(const std::string& name, int64_t rows = 0) const {
    Tensor tensor = matrix(member(name), name);
    if (rows != 0 && tensor.shape[0] != rows) fail(fmt::format("\"{}\" has {} rows, expected {}", name, tensor.shape[0], rows));
    return tensor;
  }

 private:
  const Json& json_;
  std::string source_;
};

std::string read_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream || !text) throw Failure(kFailure, file + ": cannot be read");
  return text.str();
}

// ---------------------------------------------------------------------------------------------------------- computing

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

double difference(float got, double want) {
  const double error = std::fabs(static_cast<double>(got) - want);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

double error_against_expected(const Example& example, const Tensors& tensors) {
  const Reader reader(*example.document, example.source);
  double worst = 0;
  for (const char* name : {"Q", "K", "V", "scores", "scaled", "weights", "output"}) {
    const Json& rows = reader.member(reader.member("expected"), name);
    const Tensor& got = tensors.at(name);
    if (reader.matrix(rows, name).shape != got.shape)
      reader.fail(fmt::format("\"expected.{}\" should be [{}, {}]", name, got.shape[0], got.shape[1]));
    size_t at = 0;
    for (const Json& row : rows) {
      for (const Json& want : row) worst = std::max(worst, difference(got.values[at++], want.get<double>()));
    }
  }
  return worst;
}

}  // namespace

Example load_example(const std::string& file) {
  Example example;
  example.source = file.empty() ? "built-in example" : printable(file);
  const std::string text = file.empty() ? std::string(kSeedExample, kSeedExampleSize) : read_file(file);
  example.document = std::make_shared<const Json>(Json::parse(text, nullptr, false));
  const Reader reader(*example.document, example.source);
  if (example.document->is_discarded()) reader.fail("not a JSON document");

  example.x = reader.matrix("X");
  const int64_t tokens = example.x.shape[0], width = example.x.shape[1];
  example.wq = reader.matrix("Wq", width);
  example.wk = reader.matrix("Wk", width);
  example.wv = reader.matrix("Wv", width);
  if (example.wq.shape[1] != example.wk.shape[1]) reader.fail("\"Wq\" and \"Wk\" differ in their number of columns");
  example.mask_fill = reader.number(reader.member("mask_fill"), "mask_fill");

  const Json &names = reader.member("tokens"), &mask = reader.member("pad_mask");
  if (!names.is_array() || static_cast<int64_t>(names.size()) != tokens)
    reader.fail(fmt::format("\"tokens\" should be {} strings", tokens));
  if (!mask.is_array() || static_cast<int64_t>(mask.size()) != tokens)
    reader.fail(fmt::format("\"pad_mask\" should be {} numbers", tokens));
  for (int64_t t = 0; t < tokens; ++t) {
    const Json &name = names[static_cast<size_t>(t)], &keep = mask[static_cast<size_t>(t)];
    if (!name.is_string()) reader.fail(fmt::format("\"tokens\" should be {} strings", tokens));
    if (keep != 0 && keep != 1) reader.fail("\"pad_mask\" should hold 0 and 1 only");
    example.tokens.push_back(printable(name.get<std::string>(), 12));
    example.pad_mask.push_back(keep.get<uint8_t>());
  }
  return example;
}

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

Reproduction reproduce(const Example& example, const Tensors& tensors) {
  const Reader reader(*example.document, example.source);
  const Json& list = reader.member("printed");
  if (!list.is_array()) reader.fail("\"printed\" should be an array");
  Reproduction result;
  for (const char* group : {"entry", "shape", "simulation"}) result.groups[group] = {};
  for (size_t p = 0; p < list.size(); ++p) try {
      const Json& entry = list[p];
      const std::string name = entry.at("name"), group = entry.at("group");
      const std::vector<int64_t> indices = entry.at("indices");
      const auto tensor = tensors.find(name);
      if (tensor == tensors.end())
        reader.fail(fmt::format("\"printed\" {} names \"{}\", which is no result", p, printable(name, 40)));
      if (!result.groups.contains(group))
        reader.fail(fmt::format("\"printed\" {} has the unknown group \"{}\"", p, printable(group, 40)));
      const std::vector<int64_t>& shape = tensor->second.shape;

      bool reproduced = false;
      std::string got_text;
      if (group == "shape") {
        reproduced = entry.at("value").get<std::vector<int64_t>>() == shape;
        got_text = Json(shape).dump();
      } else {
        if (indices.size() != shape.size()) reader.fail(fmt::format("\"printed\" {}: {} has {} indices", p, name, shape.size()));
        int64_t at = 0;
        for (size_t i = 0; i < shape.size(); ++i) {
          if (indices[i] < 0 || indices[i] >= shape[i])
            reader.fail(fmt::format("\"printed\" {}: index {} of {} is outside", p, indices[i], name));
          at = at * shape[i] + indices[i];
        }
        const double value = entry.at("value"), decimals = entry.at("decimals");
        const double got = static_cast<double>(tensor->second.values[static_cast<size_t>(at)]) * entry.value("multiplier", 1.0);
        reproduced = entry.value("exact", false) ? got == value : std::fabs(got - value) < 0.5 * std::pow(10.0, -decimals);
        got_text = fmt::format("{:.8g}", got);
      }
      for (Count* count : {&result.all, &result.groups[group]}) {
        ++count->printed;
        count->reproduced += reproduced ? 1 : 0;
      }
      if (!reproduced) {
        result.missed.push_back(fmt::format("{}{} was printed as {}, got {} ({})", name, entry.at("indices").dump(),
                                            entry.at("value").dump(), got_text,
                                            printable(entry.value("source_phrase_in_english", ""), 80)));
      }
    } catch (const nlohmann::json::exception&) {
      reader.fail(fmt::format("\"printed\" {} lacks a member or has one of the wrong type", p));
    }
  return result;
}

std::string published(const Example& example, const std::string& name, size_t index) {
  for (const Json& entry : example.document->at("printed")) {  // reproduce() has read them all
    if (entry["name"] == name && entry["indices"] == Json::array({index}) && !entry.contains("multiplier")) {
      return fmt::format("{:.{}f}", entry["value"].get<double>(), std::clamp(entry["decimals"].get<int>(), 0, 15));
    }
  }
  return "-";
}

namespace {

// Five shades for 0 .. 1: glyphs everywhere, and a background where there are colours (dark blue to light blue, 6 x 6 x 6 cube).
Cell shaded(float weight) {
  constexpr const char* kGlyphs[] = {"  ", "░░", "▒▒", "▓▓", "██"};
  constexpr int kBackgrounds[] = {234, 17, 19, 26, 39};
  const int level = weight > 0 ? std::clamp(static_cast<int>(std::ceil(weight * 4)), 1, 4) : 0;
  return {fmt::format("{:.3f} {}", static_cast<double>(weight), kGlyphs[level]),
          fmt::format("38;5;255;48;5;{}", kBackgrounds[level])};
}

template <class Format>
void print_matrix(const Example& example, const Tensor& t, bool token_columns, Format format) {
  Table table;
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
  print_matrix(example, t.at("weights"), true, shaded);
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
