// Start reading here. A Graph is built once from ops on matrices, compiled into a Plan (plan.h) and run by a Context (context.h).
//
// Every value is a matrix. Its rows belong to a row set (the live tokens of the batch, its sequences, or a further token set for
// cross-attention) and its width is fixed here, so that every shape is checked while the graph is built. Only attention and
// pooling change row sets. A builder call that cannot be right returns an invalid Value; the graph keeps its first error, and
// Plan::compile reports it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "saccade/export.h"
#include "saccade/status.h"
#include "saccade/tensor.h"

namespace saccade {
inline namespace v0 {

// Which rows a value has. The default is the batch's tokens; further token sets come from Graph::token_set.
struct RowSet {
  static constexpr int32_t kSequences = -1;
  int32_t index = 0;  // 0: tokens; 1, 2, ...: token sets in the order of their creation; kSequences: one row per sequence
  friend bool operator==(RowSet, RowSet) = default;
};

// One matrix of a graph; cheap to copy. A default-constructed Value is none.
struct Value {
  uint64_t graph = 0;
  int32_t node = -1;
  bool valid() const { return node >= 0; }
};

enum class Activation : uint8_t { kIdentity, kRelu, kGelu /* x Phi(x), by erf */, kGeluTanh, kSilu, kTanh, kSigmoid };

// kMean, kFirst (CLS), kLast and kMax over the live tokens of each sequence; a sequence without tokens gives zeros.
enum class Pooling : uint8_t { kMean, kFirst, kLast, kMax };

// Which key the first query is aligned with when a sequence has more keys than queries: top_left allows j <= i, bottom_right
// allows j <= i + keys - queries (decoding).
enum class Causal : uint8_t { kNone, kTopLeft, kBottomRight };

struct AttentionOptions {
  int64_t heads = 1;
  int64_t kv_heads = 0;             // 0: as heads. Query head h reads key/value head h / (heads / kv_heads)
  std::optional<float> scale = {};  // none: 1 / sqrt(head_dim)
  float softcap = 0;                // 0: none; else s = softcap * tanh(s / softcap) after the scale
  Causal causal = Causal::kNone;    // by row order within the sequence
  std::optional<int64_t> window_left =
      {};  // keys j with p - window_left <= j <= p + window_right, p the aligned position of the query
  std::optional<int64_t> window_right = {};
  Vector alibi_slopes = {};   // [heads]: s -= slope * |p - j|
  Vector relative_bias = {};  // [heads, 2R + 1]: s += relative_bias[h][clamp(j - i, -R, R) + R]
  bool weights = false;       // makes Graph::attention_weights possible; does not change the output's bits
};

struct RopeOptions {
  int64_t heads = 1;
  int64_t rotary_dim = 0;        // leading columns of each head that are rotated; 0: all
  float base = 10000.0f;         // angle of pair i at position p: scale * p * base^(-2i / rotary_dim)
  double scale = 1;              // below 1 for models whose context was extended
  bool interleaved = false;      // pairs (2i, 2i + 1) instead of (i, i + rotary_dim / 2)
  int64_t max_positions = 8192;  // a run with a position beyond is out_of_range
};

// One summand of an embedding: row ids[r] + offset of the table; without ids, row `offset` for every r.
struct Lookup {
  Table table = {};
  Value ids = {};
  int64_t offset = 0;
};

struct GraphData;

class SACCADE_EXPORT Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  static constexpr RowSet tokens() { return {}; }
  static constexpr RowSet sequences() { return {RowSet::kSequences}; }
  RowSet token_set(std::string name);  // a second set of tokens: the keys of cross-attention

  // ---- inputs, bound by name in Context::run
  Value input(std::string name, int64_t width, RowSet rows = {});  // f32 [rows, width]
  Value ids(std::string name, RowSet rows = {});                   // int32 or int64 [rows]
  Value positions(RowSet rows = {});                               // 0, 1, 2, ... in each sequence, or Batch::with_positions

  // ---- rows: each row of the result depends on the same row of the operands
  Value embedding(std::span<const Lookup> lookups);  // [rows of the ids, width]: the sum, in the order given; at most 3 lookups
  Value embedding(std::initializer_list<Lookup> lookups) { return embedding(std::span(lookups.begin(), lookups.size())); }
  Value linear(Value x, const Weight& weight, const Vector& bias = {});  // x W + bias: [rows, in] -> [rows, out]
  Value activation(Value x, Activation f);
  Value gated(Value gate, Value up, Activation f);  // f(gate) * up: GeGLU, SwiGLU
  Value add(Value a, Value b);
  // Normalised over the width, or over each of `groups` equal parts of it (q_norm, k_norm); gain and bias have width / groups
  // numbers and may be empty.
  Value layer_norm(Value x, const Vector& gain, const Vector& bias, float eps, int64_t groups = 1);
  Value rms_norm(Value x, const Vector& gain, float eps, int64_t groups = 1);
  Value l2_normalize(Value x, float eps = 1e-12f);  // x / max(|x|, eps)
  Value rope(Value x, const RopeOptions& options);  // by position: [rows, heads * head_dim]

  // ---- across rows
  // q [rows Q, heads * head_dim], k [rows K, kv_heads * head_dim], v [rows K, kv_heads * value_dim] -> [rows Q, heads *
  // value_dim]. Sequence s of Q attends to sequence s of K. A query without an allowed key gives zeros.
  Value attention(Value q, Value k, Value v, const AttentionOptions& options);
  // Weights of that attention, an output only: per sequence [heads, queries, keys], one sequence after the other; binds to
  // flat().
  Value attention_weights(Value attention);
  Value pool(Value x, Pooling kind);  // [tokens, width] -> [sequences, width]

  void output(std::string name, Value value);

  const Status& status() const;  // the first error, or ok

  const GraphData& data() const { return *data_; }  // for Plan::compile

 private:
  std::unique_ptr<GraphData> data_;
};

}  // namespace v0
}  // namespace saccade
