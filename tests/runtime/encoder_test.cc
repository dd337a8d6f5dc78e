// Whole encoders against the double reference, on ragged batches.
#include <gtest/gtest.h>

#include "tests/reference/encoder.h"
#include "tests/support/compare.h"
#include "tests/support/runs.h"

namespace saccade::test {
namespace {

constexpr EncoderShape kBert{.layers = 2, .width = 48, .heads = 4, .kv_heads = 4, .ffn = 80};
constexpr EncoderShape kModern{.layers = 2, .width = 64, .heads = 4, .kv_heads = 2, .ffn = 72, .modern = true};
const std::vector<int64_t> kLengths = {5, 1, 0, 17, 33, 2, 0, 9};

void expect_rows(const char* what, const std::vector<float>& got, const EncoderWeights& e, const EncoderBatch& batch) {
  Comparison comparison(what);
  size_t row = 0;
  for (const auto& ids : batch.ids) {
    const reference::Rows want = reference::encoder(e, ids);
    for (int64_t r = 0; r < want.rows; ++r, ++row) {
      for (int64_t j = 0; j < want.width; ++j) {
        comparison.add(row, static_cast<size_t>(j), got[row * static_cast<size_t>(want.width) + static_cast<size_t>(j)],
                       want(r, j), 1e-5);
      }
    }
  }
  EXPECT_TRUE(comparison.result());
}

TEST(Encoder, TokensAreThoseOfTheReference) {
  for (const EncoderShape& shape : {kBert, kModern}) {
    const EncoderWeights e = random_encoder(shape, 1);
    const EncoderBatch batch(shape, kLengths, 2);
    expect_rows(shape.modern ? "modern" : "bert", run_encoder(e, {}, batch)["tokens"], e, batch);
  }
}

TEST(Encoder, PooledRowsAreThoseOfTheReference) {
  for (const EncoderShape& shape : {kBert, kModern}) {
    const EncoderWeights e = random_encoder(shape, 3);
    const EncoderBatch batch(shape, kLengths, 4);
    for (Pooling pooling : {Pooling::kMean, Pooling::kFirst, Pooling::kLast, Pooling::kMax}) {
      for (bool normalize : {false, true}) {
        const EncoderOptions options{.tokens = false, .pooled = true, .pooling = pooling, .normalize = normalize};
        const auto got = run_encoder(e, options, batch)["pooled"];
        Comparison comparison("pooled");
        for (size_t s = 0; s < batch.ids.size(); ++s) {
          const auto want = reference::pooled(reference::encoder(e, batch.ids[s]), pooling, normalize);
          for (size_t j = 0; j < want.size(); ++j) comparison.add(s, j, got[s * want.size() + j], want[j], 1e-5);
        }
        EXPECT_TRUE(comparison.result()) << "pooling " << static_cast<int>(pooling) << " normalize " << normalize;
      }
    }
  }
}

// Queries of one token set attend to the keys of another.
TEST(Encoder, CrossAttentionIsThatOfTheReference) {
  Random random(5);
  constexpr int64_t kWidth = 24, kHeads = 3;
  const LinearWeights q = random_linear(random, kWidth, kWidth, true, false), k = random_linear(random, 16, kWidth, true, true),
                      v = random_linear(random, 16, 2 * kHeads, false, true);
  Graph g;
  const RowSet memory = g.token_set("memory");
  const Value x = g.input("x", kWidth), m = g.input("m", 16, memory);
  g.output("y", g.attention(g.linear(x, q.weight(), q.vector()), g.linear(m, k.weight(), k.vector()),
                            g.linear(m, v.weight(), v.vector()), {.heads = kHeads}));
  auto plan = Plan::compile(g);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  auto context = Context::create(*plan, {.threads = 2});
  ASSERT_TRUE(context.ok());
  const std::vector<int64_t> queries = {3, 0, 20, 2}, keys = {7, 4, 0, 31};
  Batch batch;
  batch.assign_lengths(queries).assign_lengths(keys, memory);
  const std::vector<float> xs = random_vector(random, 25 * kWidth, 0, 1), ms = random_vector(random, 42 * 16, 0, 1);
  std::vector<float> y(25 * 2 * kHeads);
  const Status status =
      context->run(batch, {{"x", packed(ConstMatrix(xs.data(), 25, kWidth))}, {"m", packed(ConstMatrix(ms.data(), 42, 16))}},
                   {{"y", packed(Matrix(y.data(), 25, 2 * kHeads))}});
  ASSERT_TRUE(status.ok()) << status.to_string();
  Comparison comparison("cross attention");
  int64_t q_row = 0, k_row = 0;
  for (size_t s = 0; s < queries.size(); ++s) {
    reference::Rows xr(queries[s], kWidth), mr(keys[s], 16);
    for (size_t i = 0; i < xr.x.size(); ++i) xr.x[i] = xs[static_cast<size_t>(q_row * kWidth) + i];
    for (size_t i = 0; i < mr.x.size(); ++i) mr.x[i] = ms[static_cast<size_t>(k_row * 16) + i];
    const auto want =
        reference::attention(reference::linear(xr, q), reference::linear(mr, k), reference::linear(mr, v), kHeads, kHeads, false);
    for (int64_t r = 0; r < want.rows; ++r) {
      for (int64_t j = 0; j < want.width; ++j) {
        comparison.add(static_cast<size_t>(q_row + r), static_cast<size_t>(j),
                       y[static_cast<size_t>((q_row + r) * want.width + j)], want(r, j), 1e-5);
      }
    }
    q_row += queries[s], k_row += keys[s];
  }
  EXPECT_TRUE(comparison.result());
}

}  // namespace
}  // namespace saccade::test
