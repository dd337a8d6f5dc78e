// Every mistake that Batch, Workspace and attention() can see.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "saccade/attention.h"
#include "saccade/batch.h"
#include "tests/runtime/bad_input.h"

namespace saccade {
namespace {

using test::expect_error;
using test::kHuge;
using test::kInf;
using test::kInvalid;
using test::kNan;
using test::kRange;

// ------------------------------------------------------------------------------------------------------------- batch

struct BatchCase {
  std::string name;
  Code code;
  std::vector<std::string> words;
  std::function<void(Batch&)> assign;
};

TEST(BadInput, Batch) {
  using Longs = std::vector<int64_t>;
  using Ints = std::vector<int32_t>;
  static const uint8_t twos[] = {1, 2, 1, 1};
  static const int32_t negative[] = {1, 1, 1, -1};
  static const int64_t wide[] = {1, 1, int64_t{1} << 32, 1};  // 0 in its low half
  const BatchCase cases[] = {
      {"negative length",
       kInvalid,
       {"assign_lengths", "sequence 1", "-2"},
       [](Batch& b) {
         b.assign_lengths(Longs{1, -2});
       }},
      {"negative short length", kInvalid, {"assign_lengths", "sequence 0", "-1"}, [](Batch& b) { b.assign_lengths(Ints{-1}); }},
      {"overflowing lengths",
       kRange,
       {"assign_lengths", "sequences 0 to 1", "2147483647"},
       [](Batch& b) {
         b.assign_lengths(Longs{1, INT64_MAX});
       }},
      {"too many tokens", kRange, {"assign_lengths", "2147483647"}, [](Batch& b) { b.assign_lengths(Longs{kHuge}); }},
      {"no offsets", kInvalid, {"assign_offsets", "empty", "sequences + 1"}, [](Batch& b) { b.assign_offsets(Longs{}); }},
      {"first offset",
       kInvalid,
       {"assign_offsets", "offsets[0] is 1", "0"},
       [](Batch& b) {
         b.assign_offsets(Longs{1, 2});
       }},
      {"falling offsets",
       kInvalid,
       {"assign_offsets", "offsets[2] is 3", "offsets[1] = 4"},
       [](Batch& b) {
         b.assign_offsets(Ints{0, 4, 3});
       }},
      {"mask of 2",
       kInvalid,
       {"assign_mask", "mask[0][1] is 2", "0 or 1"},
       [](Batch& b) { b.assign_mask(twos, {.sequences = 2, .max_length = 2}); }},
      {"mask of -1",
       kInvalid,
       {"assign_mask", "mask[1][1] is -1"},
       [](Batch& b) { b.assign_mask(negative, {.sequences = 2, .max_length = 2}); }},
      {"mask of 2^32",
       kInvalid,
       {"assign_mask", "mask[1][0] is 4294967296"},
       [](Batch& b) { b.assign_mask(wide, {.sequences = 2, .max_length = 2}); }},
      {"null mask",
       kInvalid,
       {"assign_mask", "null", "2 x 3"},
       [](Batch& b) { b.assign_mask(static_cast<const uint8_t*>(nullptr), {.sequences = 2, .max_length = 3}); }},
      {"short mask stride",
       kInvalid,
       {"assign_mask", "stride is 1", "max_length = 2"},
       [](Batch& b) { b.assign_mask(twos, {.sequences = 2, .max_length = 2, .stride = 1}); }},
      {"negative sequences",
       kInvalid,
       {"assign_mask", "sequences is -2"},
       [](Batch& b) { b.assign_mask(twos, {.sequences = -2, .max_length = 2}); }},
      {"negative max_length",
       kInvalid,
       {"assign_mask", "max_length is -2"},
       [](Batch& b) { b.assign_mask(twos, {.sequences = 2, .max_length = -2}); }},
      {"overflowing mask",
       kInvalid,
       {"assign_mask", "overflows"},
       [](Batch& b) { b.assign_mask(twos, {.sequences = kHuge, .max_length = 64}); }},
      {"unknown row set", kInvalid, {"assign_lengths", "row set 65", "64"}, [](Batch& b) { b.assign_lengths(Longs{1}, {65}); }},
      {"sequences as a row set",
       kInvalid,
       {"assign_offsets", "row set -1"},
       [](Batch& b) { b.assign_offsets(Longs{0}, Graph::sequences()); }},
      {"positions of nothing",
       kInvalid,
       {"with_positions", "row set 0", "assign_*"},
       [](Batch& b) { b.with_positions(Ints{1}); }},
      {"too few positions",
       kInvalid,
       {"with_positions", "1 positions", "2"},
       [](Batch& b) { b.assign_lengths(Longs{2}).with_positions(Ints{1}); }},
      {"negative position",
       kInvalid,
       {"with_positions", "positions[1] is -1"},
       [](Batch& b) {
         b.assign_lengths(Longs{2}).with_positions(Ints{0, -1});
       }},
      {"unequal row sets",
       kInvalid,
       {"batch", "numbers of sequences"},
       [](Batch& b) {
         b.assign_lengths(Longs{2}).assign_lengths(Longs{2, 3}, {1});
       }},
  };
  for (const BatchCase& c : cases) {
    Batch batch;
    c.assign(batch);
    expect_error(batch.status(), c.code, c.words, c.name);
  }
}

// --------------------------------------------------------------------------------------------------------- attention()

struct AttentionCase {
  std::string name;
  Code code;
  std::vector<std::string> words;
  std::function<void(AttentionArgs&)> spoil;
};

TEST(BadInput, Attention) {
  using Longs = std::vector<int64_t>;
  static const Longs one = {1}, long_ = {1, 4}, negative = {-1, 3}, two = {1, 2}, bounds = {0, 1, 3}, falling = {0, 2, 1},
                     far = {0, 1, 5}, below = {-1, 0, 1};
  static const std::vector<float> slopes = {1, kInf}, three(3), four(4);
  static const std::vector<uint8_t> twos(3, 2);
  static float square[2 * 2 * 3 * 3];
  const AttentionCase cases[] = {
      {"negative batch", kInvalid, {"batch is -1", "0"}, [](AttentionArgs& a) { a.batch = -1; }},
      {"huge batch", kRange, {"batch is 1152921504606846976"}, [](AttentionArgs& a) { a.batch = kHuge; }},
      {"no heads", kInvalid, {"heads is 0"}, [](AttentionArgs& a) { a.heads = 0; }},
      {"kv_heads that do not divide", kInvalid, {"kv_heads is 3", "heads = 2"}, [](AttentionArgs& a) { a.kv_heads = 3; }},
      {"negative kv_heads", kInvalid, {"kv_heads is -2"}, [](AttentionArgs& a) { a.kv_heads = -2; }},
      {"negative queries", kInvalid, {"queries is -3"}, [](AttentionArgs& a) { a.queries = -3; }},
      {"huge keys", kRange, {"keys is"}, [](AttentionArgs& a) { a.keys = kHuge; }},
      {"no head_dim", kInvalid, {"head_dim is 0"}, [](AttentionArgs& a) { a.head_dim = 0; }},
      {"negative value_dim", kInvalid, {"value_dim is -4"}, [](AttentionArgs& a) { a.value_dim = -4; }},
      {"null q", kInvalid, {"q has null data", "2 x 2 x 3"}, [](AttentionArgs& a) { a.q.data = nullptr; }},
      {"null k", kInvalid, {"k has null data"}, [](AttentionArgs& a) { a.k.data = nullptr; }},
      {"null v", kInvalid, {"v has null data"}, [](AttentionArgs& a) { a.v.data = nullptr; }},
      {"null out", kInvalid, {"out has null data"}, [](AttentionArgs& a) { a.out.data = nullptr; }},
      {"short row stride", kInvalid, {"q.row_stride is 3", "4"}, [](AttentionArgs& a) { a.q.row_stride = 3; }},
      {"short head stride", kInvalid, {"k.head_stride is 0", "4"}, [](AttentionArgs& a) { a.k.head_stride = 0; }},
      {"short batch stride", kInvalid, {"v.batch_stride is -24", "4"}, [](AttentionArgs& a) { a.v.batch_stride = -24; }},
      {"overflowing stride",
       kInvalid,
       {"k.batch_stride is 9223372036854775807", "memory"},
       [](AttentionArgs& a) { a.k.batch_stride = INT64_MAX; }},
      {"overlapping rows",
       kInvalid,
       {"out.batch_stride is 20", "overlap", "24"},
       [](AttentionArgs& a) { a.out.batch_stride = 20; }},
      {"out in place of q", kInvalid, {"out and q", "same memory"}, [](AttentionArgs& a) { a.q.data = a.out.data; }},
      {"too few lengths", kInvalid, {"q_lengths has 1", "2"}, [](AttentionArgs& a) { a.q_lengths = one; }},
      {"length over queries", kInvalid, {"q_lengths[1] is 4", "queries = 3"}, [](AttentionArgs& a) { a.q_lengths = long_; }},
      {"negative length", kInvalid, {"kv_lengths[0] is -1"}, [](AttentionArgs& a) { a.kv_lengths = negative; }},
      {"lengths and offsets",
       kInvalid,
       {"kv_lengths and kv_offsets", "one of them"},
       [](AttentionArgs& a) { a.kv_lengths = two, a.kv_offsets = bounds; }},
      {"too few offsets", kInvalid, {"q_offsets has 2", "batch + 1 = 3"}, [](AttentionArgs& a) { a.q_offsets = two; }},
      {"falling offsets", kInvalid, {"q_offsets[2] is 1", "q_offsets[1] = 2"}, [](AttentionArgs& a) { a.q_offsets = falling; }},
      {"offsets over keys",
       kInvalid,
       {"kv_offsets", "sequence 1 is 4", "keys = 3"},
       [](AttentionArgs& a) { a.kv_offsets = far; }},
      {"negative offset", kInvalid, {"q_offsets[0] is -1"}, [](AttentionArgs& a) { a.q_offsets = below; }},
      {"NaN scale", kInvalid, {"scale is nan"}, [](AttentionArgs& a) { a.scale = kNan; }},
      {"negative scale", kInvalid, {"scale is -1"}, [](AttentionArgs& a) { a.scale = -1.0f; }},
      {"NaN softcap", kInvalid, {"softcap is nan"}, [](AttentionArgs& a) { a.softcap = kNan; }},
      {"no causal", kInvalid, {"causal is 3"}, [](AttentionArgs& a) { a.causal = static_cast<Causal>(3); }},
      {"negative window", kInvalid, {"window_right is -2"}, [](AttentionArgs& a) { a.window_right = -2; }},
      {"alibi of another size", kInvalid, {"alibi_slopes has 3", "2"}, [](AttentionArgs& a) { a.alibi_slopes = three; }},
      {"infinite alibi", kInvalid, {"alibi_slopes[1] is inf"}, [](AttentionArgs& a) { a.alibi_slopes = slopes; }},
      {"relative bias that is even",
       kInvalid,
       {"relative_bias has 4", "heads = 2"},
       [](AttentionArgs& a) { a.relative_bias = four; }},
      {"bias of another shape",
       kInvalid,
       {"bias.shape[2] is 2", "queries = 3"},
       [](AttentionArgs& a) {
         a.bias = {square, {1, 1, 2, 3}};
       }},
      {"mask of another shape",
       kInvalid,
       {"mask.shape[0] is 3", "batch = 2"},
       [](AttentionArgs& a) {
         a.mask = {twos.data(), {3, 1, 1, 1}};
       }},
      {"negative shape",
       kInvalid,
       {"mask.shape[3] is -3"},
       [](AttentionArgs& a) {
         a.mask = {twos.data(), {1, 1, 1, -3}};
       }},
      {"null bias",
       kInvalid,
       {"bias has null data"},
       [](AttentionArgs& a) {
         a.bias = {nullptr, {1, 1, 3, 3}};
       }},
      {"mask of 2",
       kInvalid,
       {"mask element 0 is 2", "0 or 1"},
       [](AttentionArgs& a) {
         a.mask = {twos.data(), {1, 1, 1, 3}};
       }},
  };
  Result<Workspace> workspace = Workspace::create({.threads = 1});
  ASSERT_TRUE(workspace.ok()) << workspace.status().to_string();
  std::vector<float> q(48, 0.5f), out(48), lse(12), weights(36), scores(36);
  const AttentionArgs good = {.batch = 2,
                              .heads = 2,
                              .queries = 3,
                              .keys = 3,
                              .head_dim = 4,
                              .q = bhsd<const float>(q.data(), 3, 2, 4),
                              .k = bhsd<const float>(q.data(), 3, 2, 4),
                              .v = bhsd<const float>(q.data(), 3, 2, 4),
                              .out = bhsd(out.data(), 3, 2, 4),
                              .lse = lse.data(),
                              .weights = weights.data(),
                              .scores = scores.data()};
  const auto untouched = [&] {
    for (const auto* x : {&out, &lse, &weights, &scores}) {
      for (float value : *x) {
        if (value != 77) return false;
      }
    }
    return true;
  };
  for (auto* x : {&out, &lse, &weights, &scores}) std::fill(x->begin(), x->end(), 77.0f);
  for (const AttentionCase& c : cases) {
    AttentionArgs args = good;
    c.spoil(args);
    const Status status = attention(args, *workspace);
    std::vector<std::string> words = c.words;
    words.push_back("attention: ");
    expect_error(status, c.code, words, c.name);
    EXPECT_TRUE(untouched()) << c.name << " wrote to an output";
  }
  const Status status = attention(good, *workspace);
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_FALSE(untouched());
}

TEST(BadInput, Workspace) {
  expect_error(Workspace::create({.threads = -1}).status(), kInvalid, {"workspace", "threads is -1"}, "threads");
  expect_error(Workspace::create({.threads = 1, .isa = "avx3"}).status(), kInvalid, {"isa", "avx3"}, "isa");
#if defined(__x86_64__)
  expect_error(Workspace::create({.threads = 1, .isa = "neon"}).status(), Code::kUnsupported, {"isa", "neon"}, "isa");
#else
  expect_error(Workspace::create({.threads = 1, .isa = "avx2"}).status(), Code::kUnsupported, {"isa", "avx2"}, "isa");
#endif
}

}  // namespace
}  // namespace saccade
