#include "runtime/execute/attention_args.h"

#include <algorithm>

#include "kernels/kernels.h"
#include "runtime/graph/attention_rules.h"
#include "runtime/graph/check.h"
#include "runtime/graph/rules.h"

namespace saccade {
inline namespace v0 {
namespace {

// Sequences, and rows of one: positions and distances then stay far from the ends of int64_t.
constexpr int64_t kMaxRows = int64_t{1} << 40;

void check_size(const char* argument, int64_t size, int64_t least, int64_t most) {
  require(size >= least, "attention: ", argument, " is ", size, ", expected at least ", least);
  if (size > most) fail(Code::kOutOfRange, "attention: ", argument, " is ", size, ", expected at most ", most);
}

// Lengths or offsets of the sequences; returns the longest. `full` is the rows of one sequence, `full_name` its argument.
int64_t check_lengths(const char* side, std::span<const int64_t> lengths, std::span<const int64_t> offsets, int64_t batch,
                      int64_t full, const char* full_name) {
  require(lengths.empty() || offsets.empty(), "attention: ", side, "_lengths and ", side,
          "_offsets are both given, expected one of them");
  const int64_t count = static_cast<int64_t>(lengths.size()), bounds = static_cast<int64_t>(offsets.size());
  require(count == 0 || count == batch, "attention: ", side, "_lengths has ", count, " numbers, expected one a sequence, ",
          batch);
  require(bounds == 0 || bounds == batch + 1, "attention: ", side, "_offsets has ", bounds,
          " numbers, expected batch + 1 = ", batch + 1);
  if (lengths.empty() && offsets.empty()) return batch == 0 ? 0 : full;
  if (!offsets.empty()) {
    require(offsets[0] >= 0, "attention: ", side, "_offsets[0] is ", offsets[0], ", expected 0 or more");
    check_size(full_name, offsets[batch], 0, kMaxRows);
  }
  int64_t longest = 0;
  for (int64_t b = 0; b < batch; ++b) {
    if (!offsets.empty()) {
      require(offsets[b + 1] >= offsets[b], "attention: ", side, "_offsets[", b + 1, "] is ", offsets[b + 1],
              ", expected at least ", side, "_offsets[", b, "] = ", offsets[b]);
    }
    const int64_t length = offsets.empty() ? lengths[b] : offsets[b + 1] - offsets[b];
    require(length >= 0 && length <= full, "attention: ", side,
            offsets.empty() ? "_lengths" : "_offsets: the length of sequence ", offsets.empty() ? "[" : "", b,
            offsets.empty() ? "]" : "", " is ", length, ", expected 0 to ", full_name, " = ", full);
    longest = std::max(longest, length);
  }
  return longest;
}

struct Dimension {
  const char* name;
  int64_t count, stride;
};

// A [batch, heads, rows, width] view; with offsets, [rows of all, heads, width].
template <class T>
void check_view(const char* argument, const HeadsView<T>& view, int64_t batch, int64_t heads, int64_t rows, int64_t width,
                std::span<const int64_t> offsets) {
  if (!offsets.empty()) rows = offsets[batch], batch = 1;
  if (batch == 0 || rows == 0) return;
  require(view.data != nullptr, "attention: ", argument, " has null data, expected ", batch, " x ", heads, " x ", rows,
          " rows of ", width);
  Dimension dimensions[] = {{"batch_stride", batch, view.batch_stride},
                            {"head_stride", heads, view.head_stride},
                            {"row_stride", rows, view.row_stride}};
  int64_t last = width;  // element behind the last one
  for (const Dimension& d : dimensions) {
    if (d.count == 1) continue;
    require(d.stride >= width, "attention: ", argument, ".", d.name, " is ", d.stride, ", expected at least the width of a row, ",
            width);
    int64_t reach;
    const bool fits =
        multiply(d.count - 1, d.stride, reach) && !__builtin_add_overflow(last, reach, &last) && last <= INT64_MAX / 8;
    require(fits, "attention: ", argument, ".", d.name, " is ", d.stride, ", with which ", argument,
            " is larger than memory can be");
  }
  if constexpr (!std::is_const_v<T>) {  // rows must not overlap: from the smallest stride up, each steps over all before it
    std::sort(std::begin(dimensions), std::end(dimensions),
              [](const Dimension& a, const Dimension& b) { return a.stride < b.stride; });
    int64_t reach = width;
    for (const Dimension& d : dimensions) {
      if (d.count == 1) continue;
      require(d.stride >= reach, "attention: ", argument, ".", d.name, " is ", d.stride, ", with which rows of ", argument,
              " overlap, expected at least ", reach);
      reach += (d.count - 1) * d.stride;
    }
  }
}

template <class T>
BroadcastStrides check_broadcast(const char* argument, const Broadcast<T>& x, const int64_t (&full)[4]) {
  static constexpr const char* kNames[] = {"batch", "heads", "queries", "keys"};
  if (x.data == nullptr) {
    const bool default_shape = std::all_of(x.shape, x.shape + 4, [](int64_t n) { return n == 1; });
    require(default_shape, "attention: ", argument, " has null data and shape [", x.shape[0], ", ", x.shape[1], ", ", x.shape[2],
            ", ", x.shape[3], "], expected data or no shape");
    return {};
  }
  for (int d = 0; d < 4; ++d) {
    require(x.shape[d] == 1 || x.shape[d] == full[d], "attention: ", argument, ".shape[", d, "] is ", x.shape[d],
            ", expected 1 or ", kNames[d], " = ", full[d]);
  }
  require(product_fits({x.shape[0], x.shape[1], x.shape[2], x.shape[3], 8}), "attention: ", argument,
          ".shape is larger than memory can be");
  const auto stride = [&](int d, int64_t inner) { return x.shape[d] == 1 ? 0 : inner; };
  return {stride(0, x.shape[1] * x.shape[2] * x.shape[3]), stride(1, x.shape[2] * x.shape[3]), stride(2, x.shape[3]),
          stride(3, 1)};
}

// All bytes of a mask are 0 or 1.
void check_mask(const Broadcast<uint8_t>& mask) {
  if (mask.data == nullptr) return;
  const int64_t size = mask.shape[0] * mask.shape[1] * mask.shape[2] * mask.shape[3];
  constexpr int64_t kBlock = 4096;  // read as one vector loop, then looked at
  for (int64_t begin = 0; begin < size; begin += kBlock) {
    const int64_t end = std::min(size, begin + kBlock);
    uint8_t any = 0;
    for (int64_t i = begin; i < end; ++i) any |= mask.data[i];
    if (any <= 1) continue;
    for (int64_t i = begin; i < end; ++i) {
      require(mask.data[i] <= 1, "attention: mask element ", i, " is ", static_cast<int>(mask.data[i]), ", expected 0 or 1");
    }
  }
}

void check_distinct(const AttentionArgs& args) {
  const auto distinct = [&](const char* name, const float* data) {
    require(data == nullptr || data != args.out.data, "attention: out and ", name, " are the same memory, expected another");
  };
  distinct("q", args.q.data);
  distinct("k", args.k.data);
  distinct("v", args.v.data);
}

}  // namespace

CheckedAttention::CheckedAttention(const AttentionArgs& arguments) : args(arguments) {
  check_size("batch", args.batch, 0, kMaxRows);
  check_size("heads", args.heads, 1, kMaxWidth);
  check_size("queries", args.queries, 0, kMaxRows);
  check_size("keys", args.keys, 0, kMaxRows);
  check_size("head_dim", args.head_dim, 1, kMaxWidth);
  check_size("value_dim", args.value_dim, 0, kMaxWidth);
  kv_heads = check_heads(args.heads, args.kv_heads);
  group = args.heads / kv_heads;
  value_dim = args.value_dim == 0 ? args.head_dim : args.value_dim;

  longest_queries = check_lengths("q", args.q_lengths, args.q_offsets, args.batch, args.queries, "queries");
  longest_keys = check_lengths("kv", args.kv_lengths, args.kv_offsets, args.batch, args.keys, "keys");
  check_view("q", args.q, args.batch, args.heads, args.queries, args.head_dim, args.q_offsets);
  check_view("k", args.k, args.batch, kv_heads, args.keys, args.head_dim, args.kv_offsets);
  check_view("v", args.v, args.batch, kv_heads, args.keys, value_dim, args.kv_offsets);
  check_view("out", args.out, args.batch, args.heads, args.queries, value_dim, args.q_offsets);
  if (longest_queries > 0) check_distinct(args);
  require(product_fits({args.batch, args.heads, args.queries, 4}), "attention: batch * heads * queries = ", args.batch, " * ",
          args.heads, " * ", args.queries, " overflows");
  const bool square = args.weights != nullptr || args.scores != nullptr;
  require(!square || product_fits({args.batch, args.heads, args.queries, args.keys, 4}),
          "attention: batch * heads * queries * keys = ", args.batch, " * ", args.heads, " * ", args.queries, " * ", args.keys,
          " overflows");

  check_scores(args.scale, args.softcap, args.causal, args.window_left, args.window_right);
  scale = resolve_scale(args.scale, args.head_dim);
  left = std::min(args.window_left.value_or(kernels::kUnlimited), kernels::kUnlimited);
  right = std::min(args.window_right.value_or(kernels::kUnlimited), kernels::kUnlimited);
  if (args.causal != Causal::kNone) right = 0;
  check_alibi(args.alibi_slopes, args.heads);
  relative_radius = check_relative_bias(args.relative_bias, args.heads);
  const int64_t full[4] = {args.batch, args.heads, args.queries, args.keys};
  bias = check_broadcast("bias", args.bias, full);
  mask = check_broadcast("mask", args.mask, full);
  check_mask(args.mask);
}

}  // namespace v0
}  // namespace saccade
