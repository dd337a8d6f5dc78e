// Context::run: cancelling, callers at the same time, executors that call back, drop tasks or count wrong.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/runtime/context_support.h"
#include "tests/support/host.h"
#include "tests/support/runs.h"

namespace saccade::test {
namespace {

class StopAt : public Trace {
 public:
  explicit StopAt(int event) : left_(event) {}
  void event(const TraceEvent& event) noexcept override {
    events.fetch_add(1);
    tiles.fetch_add(event.tiles);
    if (event.end_ns < event.begin_ns || event.name[0] == 0) bad.store(true);
    if (left_.fetch_sub(1) == 0) stop.store(true);
  }
  std::atomic<bool> stop{false}, bad{false};
  std::atomic<int> events{0};
  std::atomic<int64_t> tiles{0};

 private:
  std::atomic<int> left_;
};

TEST(Context, TheStopFlagEndsARunAtEveryStep) {
  const EncoderWeights e = random_encoder(kBert, 1);
  const EncoderBatch batch(kBert, {30, 1, 60, 0, 17}, 2);
  const EncoderOptions options{.tokens = true, .pooled = true};
  const Graph graph = encoder_graph(e, options);
  auto plan = Plan::compile(graph);
  ASSERT_TRUE(plan.ok());
  for (const auto& executor : {std::shared_ptr<Executor>(), serial_host(3)}) {
    auto context = Context::create(*plan, {.threads = 3, .executor = executor});
    ASSERT_TRUE(context.ok());
    StopAt never(1 << 30);
    const Outputs want = run_context(*context, graph, batch, {.trace = &never});
    EXPECT_FALSE(never.bad);
    EXPECT_GT(never.events, 10);
    Batch shape;
    shape.assign_lengths(batch.lengths);
    const std::vector<int32_t> ids = batch.packed_ids();
    std::vector<float> tokens(ids.size() * 48), pooled(5 * 48);
    int cancelled = 0;
    for (int event = 0; event < never.events; ++event) {
      StopAt at(event);
      const Status status = context->run(
          shape, {{"ids", packed(ConstMatrix(ids.data(), batch.tokens()))}},
          {{"tokens", packed(Matrix(tokens.data(), batch.tokens(), 48))}, {"pooled", packed(Matrix(pooled.data(), 5, 48))}},
          {.stop = &at.stop, .trace = &at});
      if (status.ok()) {
        EXPECT_EQ(tokens, want.at("tokens"));
      } else {
        EXPECT_EQ(status.code(), Code::kCancelled);
        ++cancelled;
      }
      const Outputs again = run_context(*context, graph, batch);
      EXPECT_EQ(again.at("tokens"), want.at("tokens"));
    }
    EXPECT_GE(cancelled, never.events - 2 * 3);  // the last step's events come when all is done
  }
  std::atomic<bool> set{true};
  Small s;
  EXPECT_EQ(s.context.run(s.batch, {{"x", s.in()}}, {{"y", s.out()}}, {.stop = &set}).code(), Code::kCancelled);
  EXPECT_EQ(s.y, std::vector<float>(6, -7));
}

TEST(Context, ASecondCallerAtTheSameTimeIsRefused) {
  Small s;
  struct Second : Trace {
    Small* small = nullptr;
    Status status;
    void event(const TraceEvent&) noexcept override {
      std::vector<float> y(6);
      status = small->context.run(small->batch, {{"x", small->in()}}, {{"y", packed(Matrix(y.data(), 3, 2))}});
    }
  } trace;
  trace.small = &s;
  EXPECT_TRUE(s.context.run(s.batch, {{"x", s.in()}}, {{"y", s.out()}}, {.trace = &trace}).ok());
  EXPECT_EQ(trace.status.code(), Code::kInvalidArgument);
  EXPECT_EQ(s.y, (std::vector<float>{4, 5, 10, 11, 16, 17}));
  Context moved = std::move(s.context);
  EXPECT_EQ(s.context.run(s.batch, {{"x", s.in()}}, {{"y", s.out()}}).code(), Code::kInvalidArgument);
  EXPECT_TRUE(moved.run(s.batch, {{"x", s.in()}}, {{"y", s.out()}}).ok());
}

// A program's own executor may run another context's plan from inside a task.
TEST(Context, ATaskOfTheHostMayRunAnotherContext) {
  const EncoderWeights e = random_encoder(kBert, 1);
  const EncoderBatch batch(kBert, {30, 41, 17, 60}, 2);
  const Graph graph = encoder_graph(e, {});
  auto plan = Plan::compile(graph);
  ASSERT_TRUE(plan.ok());
  const Outputs want = run_encoder(e, {}, batch);
  struct Caller {
    const Graph* graph;
    const EncoderBatch* batch;
    std::unique_ptr<Context> inner;
    Outputs got;
    int runs = 0;
  } caller{&graph, &batch, nullptr, {}, 0};
  auto inner = Context::create(*plan, {.threads = 2});
  ASSERT_TRUE(inner.ok());
  caller.inner = std::make_unique<Context>(*std::move(inner));
  auto executor = host_executor({.self = &caller,
                                 .width = [](void*) { return 2; },
                                 .run =
                                     [](void* self, int tasks, void (*task)(void*, int), void* arg) {
                                       Caller& c = *static_cast<Caller*>(self);
                                       if (c.runs++ == 3) c.got = run_context(*c.inner, *c.graph, *c.batch);
                                       for (int i = 0; i < tasks; ++i) task(arg, i);
                                     }});
  ASSERT_TRUE(executor.ok());
  auto context = Context::create(*plan, {.executor = *executor});
  ASSERT_TRUE(context.ok());
  EXPECT_EQ(run_context(*context, graph, batch), want);
  EXPECT_GT(caller.runs, 3);
  EXPECT_EQ(caller.got, want);
}

TEST(Context, ManyCallersShareAPlan) {
  const EncoderWeights e = random_encoder(kBert, 1);
  const EncoderBatch batch(kBert, {30, 1, 17}, 2);
  const Graph graph = encoder_graph(e, {});
  auto plan = Plan::compile(graph);
  ASSERT_TRUE(plan.ok());
  const Outputs want = run_encoder(e, {}, batch);
  std::vector<std::thread> callers;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      auto context = Context::create(*plan, {.threads = 2});
      for (int run = 0; run < 5; ++run) right += run_context(*context, graph, batch) == want;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(right, 40);
}

// Says that it is done and has called nobody.
class LazyExecutor : public Executor {
 public:
  explicit LazyExecutor(bool concurrent) : concurrent_(concurrent) {}
  const char* name() const override { return "lazy"; }
  int width() const override { return 2; }
  bool concurrent() const override { return concurrent_; }
  Status run(int, void (*)(void*, int, int), void*) override { return {}; }

 private:
  bool concurrent_;
};

// Counts its workers from -1.
class WrongExecutor : public LazyExecutor {
 public:
  using LazyExecutor::LazyExecutor;
  Status run(int tasks, void (*task)(void*, int, int), void* arg) override {
    std::vector<std::thread> threads;
    for (int i = 0; i < tasks; ++i) threads.emplace_back([=] { task(arg, i - 1, tasks); });
    for (std::thread& thread : threads) thread.join();
    return {};
  }
};

TEST(Context, AnExecutorThatDropsTasksIsAnError) {
  const EncoderWeights e = random_encoder(kBert, 1);
  const EncoderBatch batch(kBert, {30, 41, 17, 60}, 2);
  auto plan = Plan::compile(encoder_graph(e, {}));
  ASSERT_TRUE(plan.ok());
  Batch shape;
  shape.assign_lengths(batch.lengths);
  const std::vector<int32_t> ids = batch.packed_ids();
  std::vector<float> y(ids.size() * 48);
  const auto run = [&](std::shared_ptr<Executor> executor) -> Status {
    auto context = Context::create(*plan, {.executor = std::move(executor)});
    if (!context.ok()) return context.status();
    return context->run(shape, {{"ids", packed(ConstMatrix(ids.data(), batch.tokens()))}},
                        {{"tokens", packed(Matrix(y.data(), batch.tokens(), 48))}});
  };
  // The region counts what was done, whoever the executor is.
  for (bool concurrent : {false, true}) {
    const Status status = run(std::make_shared<LazyExecutor>(concurrent));
    EXPECT_EQ(status.code(), Code::kInternal) << status.to_string();
    EXPECT_EQ(run(std::make_shared<WrongExecutor>(concurrent)).code(), Code::kInternal);
    EXPECT_NE(status.message().find("lazy"), std::string::npos) << status.message();
  }
  // The host executor counts calls itself, and says what its `run` did wrong.
  const Status status = run(host(2, [](void*, int, void (*)(void*, int), void*) {}));
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.to_string();
  EXPECT_NE(status.message().find("host: run"), std::string::npos) << status.message();
}

TEST(Context, OptionsThatCannotBeRightAreRefused) {
  Small s;
  EXPECT_EQ(Context::create(s.plan, {.threads = -1}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(s.context.reserve(-1, 2).code(), Code::kInvalidArgument);
  EXPECT_EQ(s.context.reserve(std::numeric_limits<int64_t>::max(), 2).code(), Code::kResourceExhausted);
  auto own = Context::create(s.plan, {.executor = serial_host(5)});
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(own->threads(), 5);
  EXPECT_STREQ(own->executor_name(), "host");
}

}  // namespace
}  // namespace saccade::test
