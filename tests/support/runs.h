// Runs of the encoder of encoder.h: a batch of token ids, a plan and a context for it, and every output as a vector.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/graph/graph_data.h"
#include "tests/support/encoder.h"

namespace saccade::test {

struct EncoderBatch {
  std::vector<int64_t> lengths;
  std::vector<std::vector<int32_t>> ids;  // by sequence
  EncoderBatch(const EncoderShape& shape, std::vector<int64_t> lengths_, uint32_t seed) : lengths(std::move(lengths_)) {
    Random random(seed);
    for (int64_t length : lengths) {
      auto& sequence = ids.emplace_back();
      for (int64_t t = 0; t < length; ++t) sequence.push_back(static_cast<int32_t>(random.integer(0, shape.vocabulary - 1)));
    }
  }
  std::vector<int32_t> packed_ids() const {
    std::vector<int32_t> all;
    for (const auto& sequence : ids) all.insert(all.end(), sequence.begin(), sequence.end());
    return all;
  }
  int64_t tokens() const { return static_cast<int64_t>(packed_ids().size()); }
  int64_t sequences() const { return static_cast<int64_t>(ids.size()); }
};

using Outputs = std::map<std::string, std::vector<float>>;

// Every output of a graph with the one input "ids".
inline Outputs run_context(Context& context, const Graph& graph, const EncoderBatch& batch, const RunOptions& options = {}) {
  Batch shape;
  shape.assign_lengths(std::span<const int64_t>(batch.lengths));
  const std::vector<int32_t> ids = batch.packed_ids();
  Outputs outputs;
  std::vector<Output> bindings;
  for (const OutputData& output : graph.data().outputs) {
    const Node& node = graph.data().nodes[static_cast<size_t>(output.node)];
    const int64_t rows = node.rows.index == RowSet::kSequences ? batch.sequences() : batch.tokens();
    auto& values = outputs[output.name];
    values.assign(static_cast<size_t>(rows * node.width), -77.0f);
    bindings.push_back({output.name, packed(Matrix(values.data(), rows, node.width))});
  }
  const Input input{"ids", packed(ConstMatrix(ids.data(), batch.tokens()))};
  const Status status = context.run(shape, std::span(&input, 1), bindings, options);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return outputs;
}

inline Outputs run_encoder(const EncoderWeights& e, const EncoderOptions& options, const EncoderBatch& batch,
                           const PlanOptions& plan_options = {}, const ContextOptions& context_options = {.threads = 2}) {
  const Graph graph = encoder_graph(e, options);
  auto plan = Plan::compile(graph, plan_options);
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
  if (!plan.ok()) return {};
  auto context = Context::create(*plan, context_options);
  EXPECT_TRUE(context.ok()) << context.status().to_string();
  if (!context.ok()) return {};
  return run_context(*context, graph, batch);
}

}  // namespace saccade::test
