// The arguments of attention(), checked, with every default resolved.
#pragma once

#include <cstdint>

#include "saccade/attention.h"

namespace saccade {
inline namespace v0 {

// Element strides of a Broadcast in [batch, heads, queries, keys]; 0 where it is broadcast.
struct BroadcastStrides {
  int64_t batch = 0, head = 0, row = 0, column = 0;
};

class CheckedAttention {
 public:
  // Throws a Failure (check.h) that names the argument.
  explicit CheckedAttention(const AttentionArgs& arguments);

  const AttentionArgs& args;
  int64_t kv_heads = 0;
  int64_t group = 0;  // query heads that read one key/value head
  int64_t value_dim = 0;
  float scale = 1;
  int64_t left = 0, right = 0;  // window and causal together
  int64_t relative_radius = 0;
  BroadcastStrides bias, mask;

  // Of sequence b.
  int64_t queries(int64_t b) const { return length(b, args.q_lengths, args.q_offsets, args.queries); }
  int64_t keys(int64_t b) const { return length(b, args.kv_lengths, args.kv_offsets, args.keys); }
  // What p(i) - i is.
  int64_t position(int64_t b) const { return args.causal == Causal::kBottomRight ? keys(b) - queries(b) : 0; }
  const float* q(int64_t b, int64_t h) const { return at(args.q, b, h, args.q_offsets); }
  const float* k(int64_t b, int64_t kv_head) const { return at(args.k, b, kv_head, args.kv_offsets); }
  const float* v(int64_t b, int64_t kv_head) const { return at(args.v, b, kv_head, args.kv_offsets); }
  float* out(int64_t b, int64_t h) const { return at(args.out, b, h, args.q_offsets); }

  int64_t longest_queries = 0, longest_keys = 0;

 private:
  static int64_t length(int64_t b, std::span<const int64_t> lengths, std::span<const int64_t> offsets, int64_t full) {
    if (!offsets.empty()) return offsets[b + 1] - offsets[b];
    return lengths.empty() ? full : lengths[b];
  }
  template <class T>
  static T* at(const HeadsView<T>& view, int64_t b, int64_t h, std::span<const int64_t> offsets) {
    if (view.data == nullptr) return nullptr;  // of a tensor without rows
    return view.data + (offsets.empty() ? b * view.batch_stride : offsets[b] * view.row_stride) + h * view.head_stride;
  }
};

}  // namespace v0
}  // namespace saccade
