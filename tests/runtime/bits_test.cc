// The same bits: whatever shares the batch, in whatever order, on however many threads, with whatever cache and executor, fused
// or not.
#include <gtest/gtest.h>
#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <numeric>

#include "tests/support/compare.h"
#include "tests/support/host.h"
#include "tests/support/runs.h"

namespace saccade::test {
namespace {

constexpr EncoderShape kWideBert{.layers = 2, .width = 48, .heads = 4, .kv_heads = 4, .ffn = 1088, .positions = 400};
constexpr EncoderShape kSmallModern{
    .layers = 2, .width = 64, .heads = 4, .kv_heads = 2, .ffn = 72, .positions = 400, .modern = true};
constexpr EncoderOptions kBoth{.tokens = true, .pooled = true};
// Long enough for several blocks of rows and for queries cut into chunks.
const std::vector<int64_t> kLengths = {300, 1, 0, 17, 33, 2, 0, 160, 9};

void expect_same(const Outputs& a, const Outputs& b, const std::string& what) {
  for (const auto& [name, values] : a) {
    const auto other = b.find(name);
    if (other == b.end()) continue;
    ASSERT_EQ(values.size(), other->second.size());
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_TRUE(same_bits(values[i], other->second[i]))
          << what << ": " << name << "[" << i << "] " << values[i] << " " << other->second[i];
    }
  }
}

// Rows of sequence s in an output of packed rows.
std::vector<float> rows_of(const std::vector<float>& values, const EncoderBatch& batch, size_t s, int64_t width) {
  const int64_t begin =
      std::accumulate(batch.lengths.begin(), batch.lengths.begin() + static_cast<std::ptrdiff_t>(s), int64_t{0});
  return {values.begin() + begin * width, values.begin() + (begin + batch.lengths[s]) * width};
}

TEST(Bits, ASequenceAloneEqualsItselfInABatch) {
  for (const EncoderShape& shape : {kWideBert, kSmallModern}) {
    const EncoderWeights e = random_encoder(shape, 1);
    const EncoderBatch batch(shape, kLengths, 2);
    Outputs all = run_encoder(e, kBoth, batch);
    for (size_t s = 0; s < kLengths.size(); ++s) {
      EncoderBatch one = batch;
      one.ids = {batch.ids[s]}, one.lengths = {batch.lengths[s]};
      const Outputs want{{"tokens", rows_of(all["tokens"], batch, s, shape.width)},
                         {"pooled",
                          {all["pooled"].begin() + static_cast<std::ptrdiff_t>(s) * shape.width,
                           all["pooled"].begin() + static_cast<std::ptrdiff_t>(s + 1) * shape.width}}};
      expect_same(want, run_encoder(e, kBoth, one), "sequence " + std::to_string(s));
    }
  }
}

TEST(Bits, OrderOfTheBatchDoesNotMatter) {
  const EncoderWeights e = random_encoder(kWideBert, 1);
  const EncoderBatch batch(kWideBert, kLengths, 2);
  EncoderBatch reversed = batch;
  std::reverse(reversed.ids.begin(), reversed.ids.end());
  std::reverse(reversed.lengths.begin(), reversed.lengths.end());
  Outputs a = run_encoder(e, kBoth, batch), b = run_encoder(e, kBoth, reversed);
  for (size_t s = 0; s < kLengths.size(); ++s) {
    EXPECT_EQ(rows_of(a["tokens"], batch, s, kWideBert.width),
              rows_of(b["tokens"], reversed, kLengths.size() - 1 - s, kWideBert.width))
        << s;
  }
}

TEST(Bits, ThreadsDoNotMatter) {
  for (const EncoderShape& shape : {kWideBert, kSmallModern}) {
    const EncoderWeights e = random_encoder(shape, 1);
    for (const auto& lengths : {kLengths, std::vector<int64_t>{20}, std::vector<int64_t>{700}}) {
      EncoderShape longer = shape;
      longer.positions = 800;
      const EncoderWeights weights = random_encoder(longer, 1);
      const EncoderBatch batch(longer, lengths, 2);
      const Outputs one = run_encoder(weights, kBoth, batch, {}, {.threads = 1});
      for (int threads : {2, 3, 8}) {
        expect_same(one, run_encoder(weights, kBoth, batch, {}, {.threads = threads}), std::to_string(threads) + " threads");
      }
    }
  }
}

#if defined(__linux__)
// A thread that waits sleeps at once where it would keep another one from its CPU.
TEST(Bits, ThreadsOnOneCpuDoNotMatter) {
  const EncoderWeights e = random_encoder(kWideBert, 1);
  const EncoderBatch batch(kWideBert, kLengths, 2);
  const Outputs own = run_encoder(e, kBoth, batch, {}, {.threads = 1});
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);  // the pool's threads inherit it
  expect_same(own, run_encoder(e, kBoth, batch, {}, {.threads = 3}), "three threads on one CPU");
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}
#endif

TEST(Bits, CacheSizesDoNotMatter) {
  for (const EncoderShape& shape : {kWideBert, kSmallModern}) {
    const EncoderWeights e = random_encoder(shape, 1);
    const EncoderBatch batch(shape, kLengths, 2);
    const Outputs own = run_encoder(e, kBoth, batch);
    for (int64_t bytes : {int64_t{256} << 10, int64_t{4} << 20}) {
      expect_same(own, run_encoder(e, kBoth, batch, {.cache_bytes = bytes}), std::to_string(bytes) + " bytes of cache");
    }
  }
}

TEST(Bits, ExecutorsDoNotMatter) {
  const EncoderWeights e = random_encoder(kWideBert, 1);
  const EncoderBatch batch(kWideBert, kLengths, 2);
  const Outputs own = run_encoder(e, kBoth, batch);
  expect_same(own, run_encoder(e, kBoth, batch, {}, {.executor = serial_host(4)}), "host, one task after the other");
  expect_same(own, run_encoder(e, kBoth, batch, {}, {.executor = reverse_host(4)}), "host, last task first");
  expect_same(own, run_encoder(e, kBoth, batch, {}, {.executor = threads_host(3)}), "host, a thread for each task");
  auto pool = pool_executor({.threads = 3, .spin_us = 0});
  ASSERT_TRUE(pool.ok());
  expect_same(own, run_encoder(e, kBoth, batch, {}, {.executor = *pool}), "pool without spinning");
}

// With every intermediate as an output no linear is fused and no row is left out.
TEST(Bits, FusedStepsEqualTheirParts) {
  for (const EncoderShape& shape : {kWideBert, kSmallModern}) {
    const EncoderWeights e = random_encoder(shape, 1);
    for (const auto& lengths : {kLengths, std::vector<int64_t>{7}}) {
      const EncoderBatch batch(shape, lengths, 2);
      const Outputs fused = run_encoder(e, kBoth, batch);
      const Graph graph = encoder_graph(e, {.tokens = true, .pooled = true, .all_values = true});
      auto plan = Plan::compile(graph);
      ASSERT_TRUE(plan.ok()) << plan.status().to_string();
      EXPECT_EQ(plan->describe().find("linear + "), std::string::npos) << plan->describe();
      auto context = Context::create(*plan, {.threads = 2});
      ASSERT_TRUE(context.ok());
      expect_same(fused, run_context(*context, graph, batch), "unfused");
    }
  }
}

// A norm in the task of its operand equals a norm of that operand bound as an input.
TEST(Bits, RowOpsInTheSameTaskEqualTheirOwnStep) {
  Random random(9);
  constexpr int64_t kWidth = 41, kTokens = 120;
  const std::vector<float> words = random_vector(random, 20 * kWidth, 0, 1), gain = random_vector(random, kWidth, 1, 0.1f);
  const Vector gains(gain.data(), kWidth);
  const LinearWeights l = random_linear(random, kWidth, kWidth, true, true);
  const auto ops = [&](Graph& g, Value embedded, Value product, Value pooled_rows) {
    g.output("a", g.layer_norm(embedded, gains, gains, 1e-5f));
    g.output("b", g.rms_norm(product, gains, 1e-5f));
    g.output("c", g.l2_normalize(pooled_rows));
  };
  Graph fused, parts;
  const Value x = fused.embedding({{.table = Table(words.data(), 20, kWidth), .ids = fused.ids("ids")}});
  const Value y = fused.linear(x, l.weight(), l.vector()), p = fused.pool(y, Pooling::kMean);
  fused.output("x", x), fused.output("y", y), fused.output("p", p);
  ops(fused, x, y, p);
  ops(parts, parts.input("x", kWidth), parts.input("y", kWidth), parts.input("p", kWidth, Graph::sequences()));
  Batch batch;
  batch.assign_lengths(std::vector<int64_t>{70, 0, 50});
  std::map<std::string, std::vector<float>> results[2], operands;
  const auto bind = [](std::map<std::string, std::vector<float>>& to, const char* name, int64_t rows) {
    to[name].resize(static_cast<size_t>(rows * kWidth));
    return packed(Matrix(to[name].data(), rows, kWidth));
  };
  std::vector<int32_t> ids(kTokens);
  for (int32_t& id : ids) id = static_cast<int32_t>(random.integer(0, 19));
  std::vector<Input> inputs = {{"ids", packed(ConstMatrix(ids.data(), kTokens))}};
  std::vector<Output> outputs = {
      {"x", bind(operands, "x", kTokens)}, {"y", bind(operands, "y", kTokens)}, {"p", bind(operands, "p", 3)}};
  for (int part : {0, 1}) {
    auto plan = Plan::compile(part == 0 ? fused : parts);
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    EXPECT_EQ(plan->describe().find(" + ") == std::string::npos, part == 1) << plan->describe();
    auto context = Context::create(*plan, {.threads = 2});
    ASSERT_TRUE(context.ok());
    outputs.push_back({"a", bind(results[part], "a", kTokens)});
    outputs.push_back({"b", bind(results[part], "b", kTokens)});
    outputs.push_back({"c", bind(results[part], "c", 3)});
    const Status status = context->run(batch, inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.to_string();
    inputs = {{"x", outputs[0].rows}, {"y", outputs[1].rows}, {"p", outputs[2].rows}};
    outputs.clear();
  }
  EXPECT_EQ(results[0], results[1]);
}

// First and last pooling compute the last layer for one row per sequence; asking for the tokens too computes all rows.
TEST(Bits, RowsThatAreLeftOutDoNotChangeTheOthers) {
  for (const EncoderShape& shape : {kWideBert, kSmallModern}) {
    const EncoderWeights e = random_encoder(shape, 1);
    const EncoderBatch batch(shape, kLengths, 2);
    for (Pooling pooling : {Pooling::kFirst, Pooling::kLast}) {
      const EncoderOptions some{.tokens = false, .pooled = true, .pooling = pooling};
      const EncoderOptions all{.tokens = true, .pooled = true, .pooling = pooling};
      const Outputs full = run_encoder(e, all, batch);
      for (int threads : {1, 2}) {
        expect_same(run_encoder(e, some, batch, {}, {.threads = threads}), full,
                    "pooling " + std::to_string(static_cast<int>(pooling)));
      }
      auto plan = Plan::compile(encoder_graph(e, some));
      ASSERT_TRUE(plan.ok());
      EXPECT_NE(plan->describe().find(pooling == Pooling::kFirst ? "first of tokens" : "last of tokens"), std::string::npos)
          << plan->describe();
    }
  }
}

// Which row was taken matters to window, ALiBi, relative bias and both causal anchors.
TEST(Bits, TakenRowsKeepTheirPositionInAttention) {
  Random random(7);
  constexpr int64_t kWidth = 32;
  const std::vector<float> slopes = {0.5f, 0.25f}, relative = random_vector(random, 2 * 9, 0, 1);
  std::vector<AttentionOptions> options;
  for (Causal causal : {Causal::kNone, Causal::kTopLeft, Causal::kBottomRight}) {
    options.push_back({.heads = 2, .causal = causal});
    options.push_back({.heads = 2, .causal = causal, .window_left = 3, .window_right = 2});
    options.push_back({.heads = 2, .causal = causal, .alibi_slopes = Vector(slopes.data(), 2)});
    options.push_back({.heads = 2, .causal = causal, .relative_bias = Vector(relative.data(), 18)});
  }
  const std::vector<int64_t> queries = {9, 1, 0, 30, 12}, keys = {14, 3, 5, 21, 0};
  const std::vector<float> x = random_vector(random, 52 * kWidth, 0, 1), m = random_vector(random, 43 * kWidth, 0, 1);
  for (const AttentionOptions& option : options) {
    for (Pooling pooling : {Pooling::kFirst, Pooling::kLast}) {
      std::vector<float> pooled_rows[2];
      for (bool all : {false, true}) {
        Graph g;
        const RowSet memory = g.token_set("memory");
        const Value q = g.input("x", kWidth), k = g.input("m", kWidth, memory);
        const Value y = g.attention(q, k, k, option);
        g.output("pooled", g.pool(y, pooling));
        if (all) g.output("tokens", y);
        auto plan = Plan::compile(g);
        ASSERT_TRUE(plan.ok()) << plan.status().to_string();
        auto context = Context::create(*plan, {.threads = 1});
        ASSERT_TRUE(context.ok());
        Batch batch;
        batch.assign_lengths(queries).assign_lengths(keys, memory);
        std::vector<float> tokens(52 * kWidth);
        pooled_rows[all].assign(5 * kWidth, -1);
        std::vector<Output> outputs = {{"pooled", packed(Matrix(pooled_rows[all].data(), 5, kWidth))}};
        if (all) outputs.push_back({"tokens", packed(Matrix(tokens.data(), 52, kWidth))});
        const Input inputs[] = {{"x", packed(ConstMatrix(x.data(), 52, kWidth))},
                                {"m", packed(ConstMatrix(m.data(), 43, kWidth))}};
        const Status status = context->run(batch, inputs, outputs);
        ASSERT_TRUE(status.ok()) << status.to_string();
      }
      EXPECT_EQ(pooled_rows[0], pooled_rows[1]);
    }
  }
}

}  // namespace
}  // namespace saccade::test
