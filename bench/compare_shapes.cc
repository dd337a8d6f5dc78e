// The shapes of bench/compare through the public API: a module for each of the two commits, with that commit's library inside.
// compare_turns.cc loads both.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/machine.h"
#include "saccade/saccade.h"
#include "tools/encoder.h"

namespace {

using namespace saccade;

using Work = std::function<Status()>;  // one call, its inputs ready

template <class T>
T take(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().to_string());
  return *std::move(result);
}

std::vector<float> numbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  bench::fill_uniform(values.data(), values.size(), 1);
  return values;
}

struct GraphWork {
  std::vector<float> x, y;
  std::vector<int32_t> ids;
  Batch batch;
  Context context;
};
Context make_context(const Graph& graph, const char* output, int threads) {
  return take(Context::create(take(Plan::compile(graph, {.outputs = {output}})), {.threads = threads}));
}

Work linear(int64_t rows, int64_t in, int64_t out, int threads) {
  const std::vector<float> weight = numbers(in * out);  // the plan copies it
  Graph graph;
  graph.output("y", graph.linear(graph.input("x", in), Weight(weight.data(), in, out, Layout::kInOut)));
  auto work = std::make_shared<GraphWork>(GraphWork{.x = numbers(rows * in),
                                                    .y = std::vector<float>(static_cast<size_t>(rows * out)),
                                                    .ids = {},
                                                    .batch = {},
                                                    .context = make_context(graph, "y", threads)});
  work->batch.assign_lengths(std::vector{rows});
  return [work, rows, in, out] {
    return work->context.run(work->batch, {{"x", packed(ConstMatrix(work->x.data(), rows, in))}},
                             {{"y", packed(Matrix(work->y.data(), rows, out))}});
  };
}

Work encoder(const std::string& name, const std::vector<int64_t>& lengths, int threads) {
  tool::EncoderShape shape;
  std::string error;
  if (!tool::parse_shape(name, shape, error)) throw std::runtime_error(error);
  const int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t{0}), width = shape.width;
  const Graph graph = tool::encoder_graph(tool::generate_weights(shape, *std::max_element(lengths.begin(), lengths.end())));
  const auto sequences = static_cast<int64_t>(lengths.size());
  auto work = std::make_shared<GraphWork>(GraphWork{.x = {},
                                                    .y = std::vector<float>(static_cast<size_t>(sequences * width)),
                                                    .ids = tool::generate_ids(tokens),
                                                    .batch = {},
                                                    .context = make_context(graph, "vectors", threads)});
  work->batch.assign_lengths(lengths);
  return [work, tokens, sequences, width] {
    return work->context.run(work->batch, {{"ids", packed(ConstMatrix(work->ids.data(), tokens))}},
                             {{"vectors", packed(Matrix(work->y.data(), sequences, width))}});
  };
}

struct AttentionWork {
  std::vector<float> q, k, v, out;
  AttentionArgs args;
  Workspace workspace;
};
Work dot_product_attention(int64_t heads, int64_t length, int64_t head_dim, bool causal, int threads) {
  const int64_t count = heads * length * head_dim;
  auto work = std::make_shared<AttentionWork>(AttentionWork{.q = numbers(count),
                                                            .k = numbers(count),
                                                            .v = numbers(count),
                                                            .out = std::vector<float>(static_cast<size_t>(count)),
                                                            .args = {},
                                                            .workspace = take(Workspace::create({.threads = threads}))});
  AttentionArgs& args = work->args;
  args.batch = 1, args.heads = heads, args.queries = args.keys = length, args.head_dim = head_dim;
  args.q = bhsd<const float>(work->q.data(), length, heads, head_dim);
  args.k = bhsd<const float>(work->k.data(), length, heads, head_dim);
  args.v = bhsd<const float>(work->v.data(), length, heads, head_dim);
  args.out = bhsd(work->out.data(), length, heads, head_dim);
  args.causal = causal ? Causal::kTopLeft : Causal::kNone;
  return [work] { return attention(work->args, work->workspace); };
}

Work make(const std::string& words, int threads) {
  std::istringstream in(words);
  std::string kind, name;
  int64_t a = 0, b = 0, c = 0;
  in >> kind;
  if (kind == "linear" && in >> a >> b >> c) return linear(a, b, c, threads);
  if (kind == "attention" && in >> a >> b >> c) return dot_product_attention(a, b, c, static_cast<bool>(in >> name), threads);
  std::vector<int64_t> lengths;
  if (kind == "encoder" && in >> name) {
    while (in >> a) lengths.push_back(a);
  }
  if (!lengths.empty()) return encoder(name, lengths, threads);
  throw std::runtime_error("no such shape: " + words);
}

}  // namespace

// "linear ROWS IN OUT", "attention HEADS LENGTH HEAD_DIM [causal]", "encoder SHAPE LENGTH LENGTH..." (SHAPE as in `saccade bench
// encoder`). Null when it cannot be made; the reason is on stderr, here and in run_shape.
extern "C" __attribute__((visibility("default"))) void* make_shape(const char* words, int threads) {
  try {
    return new Work(make(words, threads));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", words, error.what());
    return nullptr;
  }
}
extern "C" __attribute__((visibility("default"))) bool run_shape(void* shape) {
  const Status status = (*static_cast<Work*>(shape))();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok();
}
