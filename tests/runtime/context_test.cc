// Context::run: bindings and their refusals, padded rows, attention weights, scratch.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/runtime/context_support.h"
#include "tests/support/cases.h"
#include "tests/support/compare.h"
#include "tests/support/runs.h"

namespace saccade::test {
namespace {

TEST(Context, BindingsThatCannotBeRightAreRefused) {
  Small s;
  const auto in = s.in();
  const auto out = s.out();
  const Code invalid = Code::kInvalidArgument;
  s.expect_refused(Code::kNotFound, {"z"}, {{"x", in}, {"z", in}}, {{"y", out}});
  s.expect_refused(Code::kNotFound, {"z"}, {{"x", in}}, {{"y", out}, {"z", out}});
  s.expect_refused(invalid, {"x", "not bound"}, {}, {{"y", out}});
  s.expect_refused(invalid, {"y", "not bound"}, {{"x", in}}, {});
  s.expect_refused(invalid, {"x", "twice"}, {{"x", in}, {"x", in}}, {{"y", out}});
  s.expect_refused(invalid, {"y", "twice"}, {{"x", in}}, {{"y", out}, {"y", out}});
  s.expect_refused(invalid, {"x", "width 3", "got 2"}, {{"x", packed(ConstMatrix(s.x.data(), 3, 2))}}, {{"y", out}});
  s.expect_refused(invalid, {"x", "3 rows", "got 2"}, {{"x", packed(ConstMatrix(s.x.data(), 2, 3))}}, {{"y", out}});
  s.expect_refused(invalid, {"x", "stride", "got 2"}, {{"x", packed(ConstMatrix(s.x.data(), 3, 3, 2))}}, {{"y", out}});
  s.expect_refused(invalid, {"x", "null"}, {{"x", packed(ConstMatrix(static_cast<const float*>(nullptr), 3, 3))}}, {{"y", out}});
  s.expect_refused(invalid, {"x", "f32", "i32"}, {{"x", packed([] {
                                                     static const std::vector<int32_t> ids(9);
                                                     ConstMatrix m(ids.data(), 3);
                                                     m.width = 3;
                                                     return m;
                                                   }())}},
                   {{"y", out}});
  s.expect_refused(invalid, {"y", "width 2", "got 3"}, {{"x", in}}, {{"y", packed(Matrix(s.y.data(), 2, 3))}});
  s.expect_refused(invalid, {"y", "null"}, {{"x", in}}, {{"y", packed(Matrix(nullptr, 3, 2))}});
  s.expect_refused(invalid, {"y", "negative"}, {{"x", in}}, {{"y", packed(Matrix(s.y.data(), -3, 2))}});
  s.expect_refused(invalid, {"y", "flat"}, {{"x", in}}, {{"y", flat(s.y)}});
  s.expect_refused(invalid, {"x", "longest", "2"}, {{"x", padded(ConstMatrix(s.x.data(), 2, 3))}}, {{"y", out}});
  s.expect_refused(invalid, {"x", "multiple of 2"}, {{"x", padded(ConstMatrix(s.x.data(), 3, 3))}}, {{"y", out}});
  s.expect_refused(invalid, {"x", "larger than memory"},
                   {{"x", padded(ConstMatrix(s.x.data(), int64_t{1} << 60, 3, int64_t{1} << 60))}}, {{"y", out}});
}

TEST(Context, BatchesThatDoNotFitTheGraphAreRefused) {
  Small s;
  Batch none;
  EXPECT_EQ(s.context.run(none, {{"x", s.in()}}, {{"y", s.out()}}).code(), Code::kInvalidArgument);
  Batch wrong;
  wrong.assign_lengths(std::vector<int64_t>{4, -1});
  EXPECT_EQ(s.context.run(wrong, {{"x", s.in()}}, {{"y", s.out()}}).code(), Code::kInvalidArgument);
  Batch mask;
  const uint8_t bits[] = {1, 1, 0, 1, 0, 0};
  mask.assign_mask(bits, {.sequences = 2, .max_length = 3});
  std::vector<float> rows(8 * 3);
  const Status other = s.context.run(mask, {{"x", padded(ConstMatrix(rows.data(), 8, 3))}}, {{"y", s.out()}});
  EXPECT_NE(other.message().find("max_length 3 as the mask, got 4"), std::string::npos) << other.message();
}

TEST(Context, NoRowsAreLegal) {
  Small s;
  for (const auto& lengths : {std::vector<int64_t>{}, std::vector<int64_t>{0}, std::vector<int64_t>{0, 0, 0}}) {
    s.batch.assign_lengths(lengths);
    EXPECT_TRUE(
        s.context.run(s.batch, {{"x", packed(ConstMatrix(s.x.data(), 0, 3))}}, {{"y", packed(Matrix(s.y.data(), 0, 2))}}).ok());
    EXPECT_TRUE(s.context
                    .run(s.batch, {{"x", packed(ConstMatrix(static_cast<const float*>(nullptr), 0, 3))}},
                         {{"y", padded(Matrix(nullptr, 0, 2))}})
                    .ok());
  }
  const std::vector<float> before = s.y;
  EXPECT_EQ(s.y, before);
}

TEST(Context, IdsOutsideTheirTableAreRefused) {
  const EncoderWeights e = random_encoder(kBert, 1);
  const Graph graph = encoder_graph(e, {});
  auto plan = Plan::compile(graph);
  ASSERT_TRUE(plan.ok());
  auto context = Context::create(*plan, {.threads = 1});
  ASSERT_TRUE(context.ok());
  Batch batch;
  batch.assign_lengths(std::vector<int64_t>{2, 3});
  std::vector<float> y(5 * 48, -7);
  const auto run = [&](auto ids) {
    return context->run(batch, {{"ids", packed(ConstMatrix(ids.data(), 5))}}, {{"tokens", packed(Matrix(y.data(), 5, 48))}});
  };
  for (const auto& [id, place] :
       {std::pair<int64_t, int>{50, 0}, {-1, 3}, {int64_t{1} << 40, 4}, {std::numeric_limits<int64_t>::min(), 1}}) {
    std::vector<int64_t> ids = {1, 2, 3, 4, 5};
    ids[static_cast<size_t>(place)] = id;
    const Status status = run(ids);
    EXPECT_EQ(status.code(), Code::kOutOfRange);
    for (const std::string& word : {std::to_string(id), "sequence " + std::to_string(place < 2 ? 0 : 1), std::string("ids"),
                                    "token " + std::to_string(place < 2 ? place : place - 2)}) {
      EXPECT_NE(status.message().find(word), std::string::npos) << word << ": " << status.message();
    }
    EXPECT_EQ(y, std::vector<float>(5 * 48, -7));
  }
  EXPECT_TRUE(run(std::vector<int64_t>{1, 2, 3, 4, 5}).ok());
  const std::vector<float> wide = y;
  EXPECT_TRUE(run(std::vector<int32_t>{1, 2, 3, 4, 5}).ok());
  EXPECT_EQ(y, wide);
  // Positions beyond their table: 64 rows with offset 2.
  batch.assign_lengths(std::vector<int64_t>{2, 3}).with_positions(std::vector<int32_t>{0, 1, 0, 62, 2});
  const Status status = run(std::vector<int32_t>{1, 2, 3, 4, 5});
  EXPECT_EQ(status.code(), Code::kOutOfRange);
  EXPECT_NE(status.message().find("62"), std::string::npos) << status.message();
}

TEST(Context, RopePositionsBeyondTheLimitAreRefused) {
  Graph g;
  g.output("y", g.rope(g.input("x", 8), {.heads = 2, .max_positions = 4}));
  auto plan = Plan::compile(g);
  ASSERT_TRUE(plan.ok());
  auto context = Context::create(*plan, {.threads = 1});
  std::vector<float> x(5 * 8, 1.0f), y(5 * 8);
  Batch batch;
  const auto run = [&] {
    return context->run(batch, {{"x", packed(ConstMatrix(x.data(), 5, 8))}}, {{"y", packed(Matrix(y.data(), 5, 8))}});
  };
  batch.assign_lengths(std::vector<int64_t>{5});
  EXPECT_EQ(run().code(), Code::kOutOfRange);
  batch.assign_lengths(std::vector<int64_t>{4, 1});
  EXPECT_TRUE(run().ok());
}

// Padded rows in and out give what packed ones give; padded rows of the result are zeros, whatever the input holds there.
TEST(Context, PaddedRowsAreGatheredAndScattered) {
  const EncoderWeights e = random_encoder(kBert, 1);
  Graph g;
  const Value x = g.input("x", 48);
  const LinearWeights& l = e.layers[0].q;
  g.output("y", g.linear(x, l.weight(), l.vector()));
  auto plan = Plan::compile(g);
  ASSERT_TRUE(plan.ok());
  auto context = Context::create(*plan, {.threads = 2});
  ASSERT_TRUE(context.ok());
  // A prefix mask, holes, left padding, an empty sequence.
  const std::vector<uint8_t> mask = {1, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0};
  const int64_t sequences = 4, longest = 5;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Random random(2);
  std::vector<float> padded_x(mask.size() * 48, nan), packed_x;
  for (size_t i = 0; i < mask.size(); ++i) {
    for (size_t j = 0; j < 48 && mask[i]; ++j) packed_x.push_back(padded_x[i * 48 + j] = random.uniform());
  }
  const int64_t tokens = static_cast<int64_t>(packed_x.size()) / 48;
  Batch lengths, masked;
  lengths.assign_lengths(std::vector<int64_t>{3, 3, 2, 0});
  masked.assign_mask(mask.data(), {.sequences = sequences, .max_length = longest});
  std::vector<float> want(packed_x.size()), packed_y(packed_x.size()), padded_y(padded_x.size(), nan);
  ASSERT_TRUE(context
                  ->run(lengths, {{"x", packed(ConstMatrix(packed_x.data(), tokens, 48))}},
                        {{"y", packed(Matrix(want.data(), tokens, 48))}})
                  .ok());
  Status status = context->run(masked, {{"x", padded(ConstMatrix(padded_x.data(), 20, 48))}},
                               {{"y", packed(Matrix(packed_y.data(), tokens, 48))}});
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(packed_y, want);
  status = context->run(masked, {{"x", packed(ConstMatrix(packed_x.data(), tokens, 48))}},
                        {{"y", padded(Matrix(padded_y.data(), 20, 48))}});
  ASSERT_TRUE(status.ok()) << status.to_string();
  for (size_t i = 0, row = 0; i < mask.size(); ++i) {
    for (size_t j = 0; j < 48; ++j) EXPECT_EQ(padded_y[i * 48 + j], mask[i] ? want[row * 48 + j] : 0.0f);
    row += mask[i];
  }
  // By lengths, with room behind the longest.
  std::vector<float> wide_x(4 * 7 * 48, nan), wide_y(4 * 7 * 48, nan);
  for (size_t s = 0, row = 0; s < 4; ++s) {
    for (size_t c = 0; c < static_cast<size_t>(lengths.offsets()[s + 1] - lengths.offsets()[s]); ++c, ++row) {
      std::copy_n(packed_x.begin() + static_cast<std::ptrdiff_t>(row * 48), 48,
                  wide_x.begin() + static_cast<std::ptrdiff_t>((s * 7 + c) * 48));
    }
  }
  status =
      context->run(lengths, {{"x", padded(ConstMatrix(wide_x.data(), 28, 48))}}, {{"y", padded(Matrix(wide_y.data(), 28, 48))}});
  ASSERT_TRUE(status.ok()) << status.to_string();
  for (size_t s = 0, row = 0; s < 4; ++s) {
    const size_t length = static_cast<size_t>(lengths.offsets()[s + 1] - lengths.offsets()[s]);
    for (size_t c = 0; c < 7; ++c) {
      for (size_t j = 0; j < 48; ++j) EXPECT_EQ(wide_y[(s * 7 + c) * 48 + j], c < length ? want[(row + c) * 48 + j] : 0.0f);
    }
    row += length;
  }
}

// One buffer for input and output, columns side by side, strides beyond the width.
TEST(Context, OutputsMayLieAmongInputs) {
  Small s;
  std::vector<float> table(3 * 6, 0);
  for (size_t r = 0; r < 3; ++r)
    std::copy_n(s.x.begin() + static_cast<std::ptrdiff_t>(3 * r), 3, table.begin() + static_cast<std::ptrdiff_t>(6 * r));
  ASSERT_TRUE(
      s.context
          .run(s.batch, {{"x", packed(ConstMatrix(table.data(), 3, 3, 6))}}, {{"y", packed(Matrix(table.data() + 3, 3, 2, 6))}})
          .ok());
  EXPECT_EQ(table, (std::vector<float>{1, 2, 3, 4, 5, 0, 4, 5, 6, 10, 11, 0, 7, 8, 9, 16, 17, 0}));
  // Over the input itself.
  std::vector<float> same = s.x;
  ASSERT_TRUE(
      s.context.run(s.batch, {{"x", packed(ConstMatrix(same.data(), 3, 3))}}, {{"y", packed(Matrix(same.data(), 3, 2))}}).ok());
  EXPECT_EQ((std::vector<float>(same.begin(), same.begin() + 6)), (std::vector<float>{4, 5, 10, 11, 16, 17}));
}

TEST(Context, OneValueMayHaveSeveralOutputs) {
  Graph g;
  const Value x = g.input("x", 2);
  const Value y = g.activation(x, Activation::kRelu);
  g.output("copy", x);
  g.output("a", y);
  g.output("b", y);
  auto plan = Plan::compile(g);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  auto context = Context::create(*plan, {.threads = 1});
  const std::vector<float> in = {1, -2, 3, -4};
  std::vector<float> copy(4), a(4), b(8);
  Batch batch;
  batch.assign_lengths(std::vector<int64_t>{2});
  const Status status = context->run(batch, {{"x", packed(ConstMatrix(in.data(), 2, 2))}},
                                     {{"copy", packed(Matrix(copy.data(), 2, 2))},
                                      {"a", packed(Matrix(a.data(), 2, 2))},
                                      {"b", padded(Matrix(b.data(), 4, 2))}});
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(copy, in);
  EXPECT_EQ(a, (std::vector<float>{1, 0, 3, 0}));
  EXPECT_EQ(b, (std::vector<float>{1, 0, 3, 0, 0, 0, 0, 0}));
}

// ---- attention weights

TEST(Context, AttentionWeightsAreThoseOfTheOutput) {
  constexpr int64_t kWidth = 8, kHeads = 2;
  Random random(4);
  const std::vector<int64_t> lengths = {3, 0, 40, 1};
  const int64_t tokens = 44;
  const std::vector<float> q = random_vector(random, tokens * kWidth, 0, 1), k = random_vector(random, tokens * kWidth, 0, 1),
                           v = random_vector(random, tokens * kWidth, 0, 1);
  std::vector<float> y[2], weights((9 + 1600 + 1) * kHeads, -7);
  for (bool with : {false, true}) {
    Graph g;
    const Value out =
        g.attention(g.input("q", kWidth), g.input("k", kWidth), g.input("v", kWidth), {.heads = kHeads, .weights = with});
    g.output("y", out);
    if (with) g.output("w", g.attention_weights(out));
    auto plan = Plan::compile(g);
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    auto context = Context::create(*plan, {.threads = 2});
    Batch batch;
    batch.assign_lengths(lengths);
    y[with].resize(static_cast<size_t>(tokens * kWidth));
    std::vector<Output> outputs = {{"y", packed(Matrix(y[with].data(), tokens, kWidth))}};
    if (with) outputs.push_back({"w", flat(weights)});
    const Input inputs[] = {{"q", packed(ConstMatrix(q.data(), tokens, kWidth))},
                            {"k", packed(ConstMatrix(k.data(), tokens, kWidth))},
                            {"v", packed(ConstMatrix(v.data(), tokens, kWidth))}};
    const Status status = context->run(batch, inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.to_string();
    if (!with) continue;
    outputs[1] = {"w", flat(std::span(weights).first(100))};
    EXPECT_EQ(context->run(batch, inputs, outputs).code(), Code::kInvalidArgument);
    std::vector<float> shared(weights.size() + y[with].size());
    outputs[0] = {"y", packed(Matrix(shared.data() + 1, tokens, kWidth))};
    outputs[1] = {"w", flat(std::span(shared).first(weights.size()))};
    const Status overlap = context->run(batch, inputs, outputs);
    EXPECT_EQ(overlap.code(), Code::kInvalidArgument);
    EXPECT_NE(overlap.message().find("'w'"), std::string::npos) << overlap.message();
    std::vector<float> all(4 * kHeads * 40 * 40, -7);
    ASSERT_TRUE(pad_weights(batch, kHeads, {}, {}, weights, all).ok());
    EXPECT_FALSE(pad_weights(batch, kHeads, {}, {}, weights, std::span(all).first(10)).ok());
    EXPECT_FALSE(pad_weights(batch, kHeads + 1, {}, {}, weights, all).ok());
    EXPECT_EQ(all[0], weights[0]);
    EXPECT_EQ(all[3], 0.0f);
    EXPECT_EQ(all[(2 * kHeads) * 1600 + 41], weights[9 * kHeads + 41]);
  }
  EXPECT_EQ(y[0], y[1]);
  // Row 0 of head 1 of the third sequence: its weights times the values are the output.
  const float* row = weights.data() + 9 * kHeads + 1600;
  double sum = 0, first = 0;
  for (size_t j = 0; j < 40; ++j) sum += row[j], first += double{row[j]} * v[(3 + j) * kWidth + 4];
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_NEAR(first, y[1][3 * kWidth + 4], 1e-6);
}

// Scratch is sized by the longest sequence, which has key tiles; a shorter one may have whole score rows, and needs more.
TEST(Context, ALongSequenceBesideOneOfWholeScoreRows) {
  constexpr int64_t kWidth = 32;
  Random random(5);
  const std::vector<int64_t> lengths = {1040, 1024, 1024, 1040};
  const int64_t tokens = 4128;
  const std::vector<float> x = random_vector(random, tokens * kWidth, 0, 1);
  Graph g;
  const Value in = g.input("x", kWidth);
  g.output("y", g.attention(in, in, in, {}));
  auto plan = Plan::compile(g);
  ASSERT_TRUE(plan.ok());
  const auto run = [&](std::span<const int64_t> of, int64_t begin, int64_t rows) {
    auto context = Context::create(*plan, {.threads = 4});
    EXPECT_TRUE(context.ok());
    Batch batch;
    batch.assign_lengths(of);
    std::vector<float> y(static_cast<size_t>(rows * kWidth));
    EXPECT_TRUE(context
                    ->run(batch, {{"x", packed(ConstMatrix(x.data() + begin * kWidth, rows, kWidth))}},
                          {{"y", packed(Matrix(y.data(), rows, kWidth))}})
                    .ok());
    return y;
  };
  std::vector<float> alone;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    const std::vector<float> one = run(std::vector<int64_t>{length}, begin, length);
    alone.insert(alone.end(), one.begin(), one.end());
    begin += length;
  }
  for (int repeat = 0; repeat < 3; ++repeat) EXPECT_EQ(run(lengths, 0, tokens), alone);
}

}  // namespace
}  // namespace saccade::test
