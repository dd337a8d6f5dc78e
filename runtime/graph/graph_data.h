// What the builder records: one Node per op, in the order of the calls (operands always come first).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "saccade/graph.h"

namespace saccade {
inline namespace v0 {

enum class Op : uint8_t {
  kInput,
  kIds,
  kPositions,
  kEmbedding,
  kLinear,
  kActivation,
  kGated,
  kAdd,
  kNorm,
  kL2Normalize,
  kRope,
  kAttention,
  kAttentionWeights,
  kPool,
};
const char* op_name(Op op);  // "linear", ...

struct LookupData {
  Table table;
  int32_t ids = -1;  // node, or -1: row `offset` for every row
  int64_t offset = 0;
};

// Attention with every option resolved.
struct AttentionData {
  int64_t heads = 1, kv_heads = 1, head_dim = 0, value_dim = 0;
  float scale = 1, softcap = 0;
  Causal causal = Causal::kNone;
  std::optional<int64_t> window_left, window_right;
  std::vector<float> alibi_slopes;   // [heads] or empty
  std::vector<float> relative_bias;  // [heads, 2 * relative_radius + 1] or empty
  int64_t relative_radius = 0;
  bool weights = false;
};

// Only the members of its op are used. Vectors are copied as f32.
struct Node {
  Op op = Op::kInput;
  std::string name;             // inputs: the binding's name; others: for messages and describe()
  std::vector<int32_t> inputs;  // operand nodes
  int64_t width = 0;            // ids and positions: 1; attention_weights: 0
  RowSet rows;

  mutable std::optional<Weight> weight;  // linear; its owner goes once packed with PlanOptions::release_weights
  std::vector<float> bias;               // linear, norm
  std::vector<float> gain;               // norm
  Activation f = Activation::kIdentity;  // activation, gated
  bool rms = false;                      // norm
  float eps = 0;                         // norm, l2_normalize
  int64_t groups = 1;                    // norm
  RopeOptions rope;                      // rope; rotary_dim resolved
  std::vector<LookupData> lookups;       // embedding
  AttentionData attention;               // attention
  Pooling pooling = Pooling::kMean;      // pool
};

struct OutputData {
  std::string name;
  int32_t node = -1;
};

class WeightStore;  // packed panels, shared by the graph and its plans (plan/weight_store.h)

struct GraphData {
  uint64_t id = 0;  // unique in the process
  std::vector<Node> nodes;
  std::vector<OutputData> outputs;
  std::vector<std::string> token_sets;  // names of the sets 1, 2, ...
  Status status;
  mutable std::shared_ptr<WeightStore> store;  // created by the first Plan::compile
};

}  // namespace v0
}  // namespace saccade
