// What Plan::compile decides: fusions, shared weights, refusals; and what a plan tells about itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include <nlohmann/json.hpp>

#include "tests/support/isa.h"
#include "tests/support/runs.h"

namespace saccade::test {
namespace {

constexpr EncoderShape kDefaultBert{};
constexpr EncoderShape kDefaultModern{.kv_heads = 2, .modern = true};

std::vector<std::string> step_names(const Plan& plan) {
  std::vector<std::string> names;
  const auto json = nlohmann::json::parse(plan.describe_json());
  for (const auto& step : json["steps"]) names.push_back(step["name"]);
  return names;
}
std::vector<std::string> step_names(const EncoderShape& shape, const EncoderOptions& options) {
  const EncoderWeights e = random_encoder(shape, 1);
  auto plan = Plan::compile(encoder_graph(e, options));
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
  return step_names(*plan);
}

TEST(Plan, BertIsFused) {
  const std::vector<std::string> layer = {"linear x3", "attention", "linear + add + layer_norm", "linear + gelu",
                                          "linear + add + layer_norm"};
  std::vector<std::string> want = {"embedding + layer_norm"};
  for (int i = 0; i < 2; ++i) want.insert(want.end(), layer.begin(), layer.end());
  want.insert(want.end(), {"output", "pool + l2_normalize", "output"});
  std::vector<std::string> got = step_names(kDefaultBert, {.tokens = true, .pooled = true});
  std::sort(want.begin(), want.end());
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, want);
}

TEST(Plan, ModernIsFused) {
  const std::vector<std::string> want = {"embedding",
                                         "rms_norm",
                                         "linear x3",
                                         "rope",
                                         "rope",
                                         "attention",
                                         "linear + add + rms_norm",
                                         "linear x2",
                                         "gated",
                                         "linear + add + rms_norm",
                                         "linear x3",
                                         "rope",
                                         "rope",
                                         "attention",
                                         "linear + add + rms_norm",
                                         "linear x2",
                                         "gated",
                                         "linear + add + rms_norm",
                                         "output"};
  std::vector<std::string> got = step_names(kDefaultModern, {});
  if (got[0] == "embedding + rms_norm") got[0] = "embedding", got.insert(got.begin() + 1, "rms_norm");
  EXPECT_EQ(got, want);
}

TEST(Plan, FirstPoolingComputesOneRowPerSequence) {
  const std::vector<std::string> want = {"embedding + layer_norm",
                                         "linear x3",
                                         "attention",
                                         "linear + add + layer_norm",
                                         "linear + gelu",
                                         "linear + add + layer_norm",
                                         "select",
                                         "linear",
                                         "linear x2",
                                         "attention",
                                         "linear + add + layer_norm",
                                         "linear + gelu",
                                         "linear + add + layer_norm",
                                         "pool + l2_normalize",
                                         "output"};
  EXPECT_EQ(step_names(kDefaultBert, {.tokens = false, .pooled = true, .pooling = Pooling::kFirst}), want);
  EXPECT_EQ(step_names(kDefaultBert, {.tokens = false, .pooled = true, .pooling = Pooling::kLast}), want);
}

TEST(Plan, OutputsThatAreNotWantedAreNotComputed) {
  const EncoderWeights e = random_encoder(kDefaultBert, 1);
  const Graph graph = encoder_graph(e, {.tokens = true, .pooled = true});
  auto plan = Plan::compile(graph, {.outputs = {"tokens"}});
  ASSERT_TRUE(plan.ok());
  for (const std::string& name : step_names(*plan)) EXPECT_EQ(name.find("pool"), std::string::npos);
  EXPECT_EQ(Plan::compile(graph, {.outputs = {"vectors"}}).status().code(), Code::kNotFound);
  EXPECT_EQ(Plan::compile(graph, {.outputs = {"tokens", "tokens"}}).status().code(), Code::kInvalidArgument);
}

TEST(Plan, GraphsThatCannotRunAreRefused) {
  Graph empty;
  EXPECT_EQ(Plan::compile(empty).status().code(), Code::kInvalidArgument);
  Graph unused;
  unused.output("y", unused.activation(unused.input("x", 4), Activation::kRelu));
  unused.input("z", 3);
  EXPECT_EQ(Plan::compile(unused).status().code(), Code::kInvalidArgument);
  EXPECT_NE(Plan::compile(unused).status().message().find("z"), std::string::npos);
  Graph broken;
  broken.output("y", broken.activation(Value{}, Activation::kRelu));
  EXPECT_FALSE(Plan::compile(broken).ok());
}

TEST(Plan, IsasAreNeverReplaced) {
  Graph g;
  g.output("y", g.activation(g.input("x", 4), Activation::kRelu));
  auto own = Plan::compile(g);
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(own->isa(), kernels::name(isa()));
  const Status unknown = Plan::compile(g, {.isa = "avx3"}).status();
  EXPECT_EQ(unknown.code(), Code::kInvalidArgument);
  for (kernels::Isa one : kernels::kAllIsas) {
    auto plan = Plan::compile(g, {.isa = std::string(kernels::name(one))});
    if ((kernels::built_isas() & kernels::supported_isas() & kernels::bit(one)) != 0) {
      ASSERT_TRUE(plan.ok()) << plan.status().to_string();
      EXPECT_EQ(plan->isa(), kernels::name(one));
    } else {
      EXPECT_EQ(plan.status().code(), Code::kUnsupported);
      EXPECT_NE(plan.status().message().find(kernels::name(isa())), std::string::npos) << plan.status().message();
    }
  }
  EXPECT_EQ(Plan::compile(g, {.cache_bytes = -1}).status().code(), Code::kInvalidArgument);
}

TEST(Plan, DescriptionTellsShapesAndBytes) {
  const EncoderWeights e = random_encoder(kDefaultBert, 1);
  auto plan = Plan::compile(encoder_graph(e, {.tokens = false, .pooled = true}));
  ASSERT_TRUE(plan.ok());
  const auto json = nlohmann::json::parse(plan->describe_json());
  EXPECT_EQ(json["isa"], plan->isa());
  EXPECT_EQ(json["linear_backend"], "saccade");
  EXPECT_EQ(json["weight_bytes"], plan->weight_bytes());
  EXPECT_EQ(json["steps"][1]["linears"].size(), 3u);
  EXPECT_EQ(json["steps"][1]["linears"][0]["in"], 32);
  const std::string table = plan->describe();
  EXPECT_NE(table.find("[tokens, 32]"), std::string::npos) << table;
  EXPECT_NE(table.find("[sequences, 32]"), std::string::npos) << table;
  EXPECT_NE(table.find(plan->isa()), std::string::npos);
}

TEST(Plan, FlopsAndMemoryAreThoseOfTheBatch) {
  const EncoderWeights e = random_encoder(kDefaultBert, 1);
  auto plan = Plan::compile(encoder_graph(e, {}));
  ASSERT_TRUE(plan.ok());
  // 2 layers of 4 w w + 2 w ffn weights, and 4 S w for each token's attention.
  const double linears = 2.0 * 2 * 100 * (4 * 32 * 32 + 2 * 32 * 64), attention = 2.0 * 100 * 4 * 25 * 32;
  EXPECT_DOUBLE_EQ(plan->flops(100, 4), linears + attention);
  EXPECT_EQ(plan->flops(0, 0), 0);
  EXPECT_GT(plan->workspace_bytes(200, 4), plan->workspace_bytes(100, 4));
  // A chain touches at once: x and the heads before it, the next x, q, k and v behind it. Its hidden rows are not in the arena.
  const auto json = nlohmann::json::parse(plan->describe_json());
  EXPECT_LE(json["arena_bytes_per_row"], 4 * 6 * 32);
}

TEST(Plan, RowWiseNeighboursFormChains) {
  const EncoderWeights e = random_encoder(kDefaultBert, 1);
  auto plan = Plan::compile(encoder_graph(e, {.tokens = true, .pooled = true}));
  ASSERT_TRUE(plan.ok());
  const auto json = nlohmann::json::parse(plan->describe_json());
  std::string chains;
  for (const auto& step : json["steps"]) chains += step.contains("chain") ? std::to_string(step["chain"].get<int>()) : "-";
  EXPECT_EQ(chains, "00-1111-222---") << plan->describe();
}

// ---- weights

TEST(Plan, PlansOfOneGraphShareTheirWeights) {
  const EncoderWeights e = random_encoder(kDefaultBert, 1);
  const Graph graph = encoder_graph(e, {.tokens = true, .pooled = true});
  auto all = Plan::compile(graph);
  ASSERT_TRUE(all.ok());
  auto some = Plan::compile(graph, {.outputs = {"pooled"}});
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(all->weight_bytes(), some->weight_bytes());
}

TEST(Plan, ReleasedWeightsServeLaterPlansOfTheSamePacking) {
  if (isa() == kernels::Isa::kNeon) GTEST_SKIP() << "one ISA only";
  auto owner = std::make_shared<std::vector<float>>(16 * 16, 0.5f);
  std::weak_ptr<std::vector<float>> watch = owner;
  Graph g;
  const Value x = g.input("x", 16);
  const Value y = g.linear(x, Weight(owner->data(), Dtype::kF32, 16, 16, Layout::kOutIn, 0, owner, "dense"));
  g.output("y", y);
  g.output("pooled", g.pool(y, Pooling::kMean));
  owner.reset();
  ASSERT_FALSE(watch.expired());
  auto first = Plan::compile(g, {.isa = "sse2", .outputs = {"y"}, .release_weights = true});
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  EXPECT_TRUE(watch.expired());
  auto again = Plan::compile(g, {.isa = "sse2", .outputs = {"pooled"}});
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  if ((kernels::built_isas() & kernels::supported_isas() & kernels::bit(kernels::Isa::kAvx2)) == 0) return;
  const Status other = Plan::compile(g, {.isa = "avx2"}).status();
  EXPECT_EQ(other.code(), Code::kUnsupported);
  EXPECT_NE(other.message().find("dense"), std::string::npos) << other.message();
}

TEST(Plan, LayersThatShareAMatrixShareItsPanels) {
  std::vector<float> w(64 * 64, 0.1f);
  Graph g;
  Value x = g.input("x", 64);
  for (int i = 0; i < 3; ++i) x = g.activation(g.linear(x, Weight(w.data(), 64, 64, Layout::kInOut)), Activation::kRelu);
  g.output("y", x);
  auto plan = Plan::compile(g);
  ASSERT_TRUE(plan.ok());
  EXPECT_LE(plan->weight_bytes(), 64 * 72 * 4);
}

// Half-precision weights and tables give what their widened copies give.
TEST(Plan, SixteenBitWeightsAreWidened) {
  const auto bf16 = [](float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    return static_cast<uint16_t>(bits >> 16);
  };
  Random random(3);
  std::vector<float> w = random_vector(random, 24 * 10, 0, 1), table = random_vector(random, 7 * 24, 0, 1);
  std::vector<uint16_t> w16, table16;
  for (auto [wide, narrow] : {std::pair{&w, &w16}, std::pair{&table, &table16}}) {
    for (float& x : *wide) {
      narrow->push_back(bf16(x));
      const uint32_t bits = uint32_t{narrow->back()} << 16;
      std::memcpy(&x, &bits, 4);
    }
  }
  std::vector<float> results[2];
  for (bool narrow : {false, true}) {
    Graph g;
    const Table rows = narrow ? Table(table16.data(), Dtype::kBf16, 7, 24) : Table(table.data(), 7, 24);
    const Weight weight =
        narrow ? Weight(w16.data(), Dtype::kBf16, 24, 10, Layout::kOutIn) : Weight(w.data(), 24, 10, Layout::kOutIn);
    g.output("y", g.linear(g.embedding({{.table = rows, .ids = g.ids("ids")}}), weight));
    auto plan = Plan::compile(g);
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    auto context = Context::create(*plan, {.threads = 1});
    ASSERT_TRUE(context.ok());
    const std::vector<int32_t> ids = {0, 3, 6, 1};
    Batch batch;
    batch.assign_lengths(std::vector<int64_t>{3, 1});
    results[narrow].resize(40);
    const Status status = context->run(batch, {{"ids", packed(ConstMatrix(ids.data(), 4))}},
                                       {{"y", packed(Matrix(results[narrow].data(), 4, 10))}});
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
  EXPECT_EQ(results[0], results[1]);
}

// Matrices of a mapped file lie at any address.
TEST(Plan, WeightsAndTablesMayLieAtAnyAddress) {
  Random random(3);
  const std::vector<float> w = random_vector(random, 24 * 10, 0, 1), table = random_vector(random, 7 * 24, 0, 1);
  std::vector<char> odd_w(w.size() * 4 + 1), odd_table(table.size() * 4 + 3);
  std::memcpy(odd_w.data() + 1, w.data(), w.size() * 4);
  std::memcpy(odd_table.data() + 3, table.data(), table.size() * 4);
  std::vector<float> results[2];
  for (bool odd : {false, true}) {
    Graph g;
    const Table rows(odd ? static_cast<const void*>(odd_table.data() + 3) : table.data(), Dtype::kF32, 7, 24);
    const Weight weight(odd ? static_cast<const void*>(odd_w.data() + 1) : w.data(), Dtype::kF32, 24, 10, Layout::kOutIn);
    g.output("y", g.linear(g.embedding({{.table = rows, .ids = g.ids("ids")}}), weight));
    auto plan = Plan::compile(g);
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    auto context = Context::create(*plan, {.threads = 1});
    ASSERT_TRUE(context.ok());
    const std::vector<int32_t> ids = {0, 3, 6, 1};
    Batch batch;
    batch.assign_lengths(std::vector<int64_t>{3, 1});
    results[odd].resize(40);
    const Status status =
        context->run(batch, {{"ids", packed(ConstMatrix(ids.data(), 4))}}, {{"y", packed(Matrix(results[odd].data(), 4, 10))}});
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
  EXPECT_EQ(results[0], results[1]);
}

// ---- another library's linears

class LoopLinear : public PreparedLinear {
 public:
  explicit LoopLinear(const LinearSpec& spec)
      : in_(spec.in), out_(spec.out), w_(static_cast<size_t>(in_ * out_)), bias_(static_cast<size_t>(out_)) {
    for (int64_t i = 0; i < in_; ++i) {
      for (int64_t j = 0; j < out_; ++j) w_[static_cast<size_t>(i * out_ + j)] = spec.w[i * spec.in_stride + j * spec.out_stride];
    }
    for (int64_t j = 0; j < out_ && spec.bias != nullptr; ++j) bias_[static_cast<size_t>(j)] = spec.bias[j];
  }
  Status run(const float* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride) const override {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < out_; ++j) {
        float sum = bias_[static_cast<size_t>(j)];
        for (int64_t i = 0; i < in_; ++i) sum += x[r * x_stride + i] * w_[static_cast<size_t>(i * out_ + j)];
        y[r * y_stride + j] = sum;
      }
    }
    if (throws) throw 7;  // not even a std::exception
    return fails ? Status(Code::kInternal, "the backend failed") : Status();
  }
  int64_t bytes() const override { return static_cast<int64_t>(w_.size() * 4); }
  static inline bool fails = false, throws = false;

 private:
  int64_t in_, out_;
  std::vector<float> w_, bias_;
};
class LoopBackend : public LinearBackend {
 public:
  const char* name() const override { return "loops 1.0"; }
  int64_t row_tile() const override { return 5; }
  Result<std::unique_ptr<PreparedLinear>> prepare(const LinearSpec& spec) override {
    ++prepared;
    return std::unique_ptr<PreparedLinear>(std::make_unique<LoopLinear>(spec));
  }
  int prepared = 0;
};

TEST(Plan, LinearsOfABackendGiveTheSameResults) {
  for (const EncoderShape& shape : {kDefaultBert, kDefaultModern}) {
    const EncoderWeights e = random_encoder(shape, 1);
    const EncoderBatch batch(shape, {7, 20, 0, 1}, 2);
    const EncoderOptions options{.tokens = true, .pooled = true};
    const Outputs own = run_encoder(e, options, batch);
    auto backend = std::make_shared<LoopBackend>();
    const Graph graph = encoder_graph(e, options);
    auto plan = Plan::compile(graph, {.linear_backend = backend});
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    const int prepared = backend->prepared;
    ASSERT_TRUE(Plan::compile(graph, {.linear_backend = backend, .outputs = {"tokens"}}).ok());
    EXPECT_EQ(backend->prepared, prepared);  // shared
    EXPECT_NE(plan->describe().find("loops 1.0"), std::string::npos);
    for (int threads : {1, 2}) {
      auto context = Context::create(*plan, {.threads = threads});
      ASSERT_TRUE(context.ok());
      const Outputs other = run_context(*context, graph, batch);
      for (const auto& [name, values] : own) {
        for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], other.at(name)[i], 1e-5) << name << i;
      }
    }
  }
}

TEST(Plan, ErrorsOfABackendReachTheCaller) {
  std::vector<float> w(64, 1.0f), x(16, 1.0f), y(16);
  Graph g;
  g.output("y", g.linear(g.input("x", 8), Weight(w.data(), 8, 8, Layout::kInOut)));
  auto plan = Plan::compile(g, {.linear_backend = std::make_shared<LoopBackend>()});
  ASSERT_TRUE(plan.ok());
  auto context = Context::create(*plan, {.threads = 1});
  ASSERT_TRUE(context.ok());
  Batch batch;
  batch.assign_lengths(std::vector<int64_t>{2});
  const auto run = [&] {
    return context->run(batch, {{"x", packed(ConstMatrix(x.data(), 2, 8))}}, {{"y", packed(Matrix(y.data(), 2, 8))}});
  };
  LoopLinear::fails = true;
  const Status failed = run();
  LoopLinear::fails = false;
  EXPECT_EQ(failed.code(), Code::kInternal);
  EXPECT_EQ(failed.message(), "the backend failed");
  LoopLinear::throws = true;
  EXPECT_EQ(run().code(), Code::kInternal);
  LoopLinear::throws = false;
  EXPECT_TRUE(run().ok());
}

TEST(Plan, AThrowingBackendKeepsNoWorkerWaiting) {
  const EncoderWeights e = random_encoder({.layers = 1, .width = 64, .ffn = 256, .positions = 400}, 1);
  const EncoderBatch batch(e.shape, {300}, 2);
  const Graph graph = encoder_graph(e, {.tokens = true});
  auto plan = Plan::compile(graph, {.linear_backend = std::make_shared<LoopBackend>()});
  ASSERT_TRUE(plan.ok());
  auto context = Context::create(*plan, {.threads = 3});
  ASSERT_TRUE(context.ok());
  Batch shape;
  shape.assign_lengths(batch.lengths);
  const std::vector<int32_t> ids = batch.packed_ids();
  std::vector<float> tokens(300 * 64);
  LoopLinear::throws = true;
  const Status status =
      context->run(shape, {{"ids", packed(ConstMatrix(ids.data(), 300))}}, {{"tokens", packed(Matrix(tokens.data(), 300, 64))}});
  LoopLinear::throws = false;
  EXPECT_EQ(status.code(), Code::kInternal);
}

TEST(Plan, OneBufferMayBeATableOfTwoDtypes) {
  const std::vector<uint16_t> numbers = {0x3c00, 0x4000, 0x3f80, 0x4040};  // f16: 1, 2, ...; bf16: ..., 1, 3
  std::vector<float> half(4), brain(4);
  Graph g;
  const Value ids = g.ids("ids");
  g.output("half", g.embedding({{.table = Table(numbers.data(), Dtype::kF16, 4, 1), .ids = ids}}));
  g.output("brain", g.embedding({{.table = Table(numbers.data(), Dtype::kBf16, 4, 1), .ids = ids}}));
  auto plan = Plan::compile(g);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  auto context = Context::create(*plan, {.threads = 1});
  ASSERT_TRUE(context.ok());
  Batch batch;
  batch.assign_lengths(std::vector<int64_t>{4});
  const std::vector<int32_t> rows = {0, 1, 2, 3};
  ASSERT_TRUE(context
                  ->run(batch, {{"ids", packed(ConstMatrix(rows.data(), 4))}},
                        {{"half", packed(Matrix(half.data(), 4, 1))}, {"brain", packed(Matrix(brain.data(), 4, 1))}})
                  .ok());
  EXPECT_EQ(half[0], 1);
  EXPECT_EQ(half[1], 2);
  EXPECT_EQ(brain[2], 1);
  EXPECT_EQ(brain[3], 3);
}

TEST(Plan, MovedFromTellsNothing) {
  const EncoderWeights e = random_encoder(kDefaultBert, 1);
  auto plan = Plan::compile(encoder_graph(e, {}));
  ASSERT_TRUE(plan.ok());
  Plan other = *plan;
  const Plan moved = std::move(*plan);
  EXPECT_EQ(plan->describe() + plan->describe_json() + plan->isa(), "");
  EXPECT_EQ(plan->weight_bytes() + plan->workspace_bytes(10, 1), 0);
  EXPECT_EQ(plan->flops(10, 1), 0);
  EXPECT_EQ(moved.flops(10, 1), other.flops(10, 1));
}

}  // namespace
}  // namespace saccade::test
