// Scaled dot-product attention by itself, for a program that has its own Q, K and V.
//
//   x(i, j) = q_i . k_j;  s = scale * x;  if softcap: s = softcap * tanh(s / softcap);  s += bias;  s -= alibi_slope |p(i) - j|
//   out_i = sum_j softmax_j(s) v_j over the allowed keys; lse_i = log sum_j exp(s)
//   p(i) = i, with causal bottom_right i + keys - queries (lengths of that sequence)
//
// A pair that is not allowed has weight exactly 0, and nothing that its key or value holds (NaN, Inf) reaches a result. A query
// without an allowed key gives output 0 and LSE -inf. -inf in the bias removes a key; -FLT_MAX is a finite number.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "saccade/executor.h"
#include "saccade/export.h"
#include "saccade/graph.h"
#include "saccade/status.h"

namespace saccade {
inline namespace v0 {

// Element (b, h, i, c) of a tensor lies at data + b * batch_stride + h * head_stride + i * row_stride + c.
template <class T>
struct HeadsView {
  T* data = nullptr;
  int64_t batch_stride = 0;
  int64_t head_stride = 0;
  int64_t row_stride = 0;
};
using ConstHeads = HeadsView<const float>;
using MutableHeads = HeadsView<float>;

template <class T>
HeadsView<T> bshd(T* data, int64_t rows, int64_t heads, int64_t dim) {  // dense [batch, rows, heads, dim]
  return {data, rows * heads * dim, dim, heads * dim};
}
template <class T>
HeadsView<T> bhsd(T* data, int64_t rows, int64_t heads, int64_t dim) {  // dense [batch, heads, rows, dim]
  return {data, heads * rows * dim, rows * dim, dim};
}
template <class T>
HeadsView<T> packed_heads(T* data, int64_t heads, int64_t dim) {  // [all rows, heads, dim], with offsets in AttentionArgs
  return {data, 0, dim, heads * dim};
}

// A dense tensor [shape] whose dimensions are each 1 (broadcast) or the full size.
template <class T>
struct Broadcast {
  const T* data = nullptr;
  int64_t shape[4] = {1, 1, 1, 1};  // batch, heads, queries, keys
};

struct AttentionArgs {
  int64_t batch = 0;
  int64_t heads = 1;
  int64_t kv_heads = 0;  // 0: as heads
  int64_t queries = 0;   // rows of q and out per sequence; with offsets: the longest
  int64_t keys = 0;      // rows of k and v per sequence; with offsets: the longest
  int64_t head_dim = 0;
  int64_t value_dim = 0;  // 0: as head_dim

  ConstHeads q = {};      // [batch, heads, queries, head_dim]
  ConstHeads k = {};      // [batch, kv_heads, keys, head_dim]
  ConstHeads v = {};      // [batch, kv_heads, keys, value_dim]
  MutableHeads out = {};  // [batch, heads, queries, value_dim]; rows beyond q_lengths are zeros

  // Lengths of each sequence [batch]; empty: all full.
  std::span<const int64_t> q_lengths = {};
  std::span<const int64_t> kv_lengths = {};
  // Or packed rows: sequence b has rows offsets[b] .. offsets[b + 1] of q and out (of k and v); batch_stride is not used then.
  // [batch + 1]
  std::span<const int64_t> q_offsets = {};
  std::span<const int64_t> kv_offsets = {};

  std::optional<float> scale = {};  // none: 1 / sqrt(head_dim)
  float softcap = 0;
  Causal causal = Causal::kNone;
  std::optional<int64_t> window_left = {};
  std::optional<int64_t> window_right = {};
  std::span<const float> alibi_slopes = {};   // [heads]
  std::span<const float> relative_bias = {};  // [heads, 2R + 1], R from its size
  Broadcast<float> bias = {};
  Broadcast<uint8_t> mask = {};  // 1 keeps, 0 drops

  // Optional results, dense [batch, heads, queries] and [batch, heads, queries, keys]; padded rows and columns: -inf, 0 and 0.
  float* lse = nullptr;
  float* weights = nullptr;  // dropped columns exactly 0
  float* scores = nullptr;   // x(i, j) of every column, dropped ones too

  const std::atomic<bool>* stop = nullptr;
};

struct WorkspaceData;

struct WorkspaceOptions {
  int threads = 0;
  std::shared_ptr<Executor> executor = nullptr;  // none: the library's pool
  const char* isa = "";                          // as PlanOptions::isa
};
// Scratch memory and executor of attention(); one caller at a time. Keeps its capacity.
class SACCADE_EXPORT Workspace {
 public:
  static Result<Workspace> create(const WorkspaceOptions& options = {});
  ~Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;

  int64_t bytes() const;  // between calls
  void trim();            // gives the memory back; nothing while a call goes on
  WorkspaceData* data() { return data_.get(); }

 private:
  explicit Workspace(std::unique_ptr<WorkspaceData> data);
  std::unique_ptr<WorkspaceData> data_;
};

SACCADE_EXPORT Status attention(const AttentionArgs& args, Workspace& workspace);

}  // namespace v0
}  // namespace saccade
