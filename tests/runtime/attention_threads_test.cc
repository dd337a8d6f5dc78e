// What attention() promises about threads, executors, cancelling, floating-point state and memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <functional>
#include <memory>
#include <thread>

#include "saccade/executor.h"
#include "tests/runtime/allocations.h"
#include "tests/runtime/attention_problem.h"

namespace saccade {
namespace {

using test::Memory;
using test::Problem;
using test::Random;
using test::same_bits;
using test::Solution;

// Runs the calls of a team by `order`; none is live at once.
class OneByOne : public Executor {
 public:
  explicit OneByOne(int width, bool backwards = false) : width_(width), backwards_(backwards) {}
  const char* name() const override { return "one by one"; }
  int width() const override { return width_; }
  bool concurrent() const override { return false; }
  Status run(int tasks, void (*task)(void* arg, int index, int team), void* arg) override {
    ++runs;
    last_tasks = tasks;
    if (before) before();
    for (int i = 0; i < tasks && !lazy; ++i) task(arg, backwards_ ? tasks - 1 - i : i, tasks);
    return result;
  }
  std::function<void()> before;
  bool lazy = false;  // runs nothing
  Status result;
  int runs = 0, last_tasks = 0;

 private:
  int width_;
  bool backwards_;
};

Workspace workspace_with(const WorkspaceOptions& options) {
  Result<Workspace> made = Workspace::create(options);
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return *std::move(made);
}

// Large enough for several threads, with a long and a short sequence, shared heads and an option that looks at positions.
Problem ragged(uint32_t seed) {
  Random random(seed);
  Problem p(random, 3, 4, 2, 200, 210, 24, 20);
  p.q_lengths = {200, 3, 131}, p.kv_lengths = {210, 5, 140};
  p.options.causal = Causal::kBottomRight;
  p.slopes = {0.5f, 0.25f, 0.125f, 0.0f};
  return p;
}

Solution<float> expect_bshd_run(const Problem& p, Workspace& w, bool extras = true) {
  test::Run run = test::run(p, w, Memory::kBshd, extras);
  EXPECT_TRUE(run.status.ok()) << run.status.to_string();
  return std::move(run.solution);
}

TEST(AttentionThreads, GiveTheSameBits) {
  const Problem p = ragged(201);
  Workspace one = workspace_with({.threads = 1});
  const Solution<float> want = expect_bshd_run(p, one);
  for (int threads : {2, 3, 8}) {
    Workspace w = workspace_with({.threads = threads});
    EXPECT_TRUE(same_bits(expect_bshd_run(p, w), want)) << threads << " threads";
  }
  for (bool backwards : {false, true}) {
    for (int width : {1, 4, 100}) {
      const auto executor = std::make_shared<OneByOne>(width, backwards);
      Workspace w = workspace_with({.executor = executor});
      EXPECT_TRUE(same_bits(expect_bshd_run(p, w), want)) << width << " calls, one by one";
      EXPECT_EQ(executor->runs, width > 1 ? 1 : 0);
    }
  }
}

// One head is cut into pieces of rows for the sake of threads, in both regimes, and a group into its heads.
TEST(AttentionThreads, OneHeadIsCutWithoutChangingBits) {
  Random random(202);
  const Problem problems[] = {
      {random, 1, 1, 1, 400, 90, 32, 32}, {random, 1, 1, 1, 450, 1100, 8, 8}, {random, 1, 6, 1, 170, 60, 16, 16}};
  for (const Problem& p : problems) {
    Workspace one = workspace_with({.threads = 1}), eight = workspace_with({.executor = std::make_shared<OneByOne>(8)});
    const Solution<float> want = expect_bshd_run(p, one, false);
    EXPECT_TRUE(same_bits(expect_bshd_run(p, eight, false).out, want.out)) << p.queries << " x " << p.keys;
    EXPECT_GT(eight.bytes(), 2 * one.bytes() - 4096) << "not cut";
  }
}

TEST(AttentionThreads, ASequenceHasTheSameBitsAlone) {
  const Problem p = ragged(203);
  Workspace w = workspace_with({.threads = 2});
  const Solution<float> all = expect_bshd_run(p, w);
  for (int64_t b = 0; b < p.batch; ++b) {
    Problem one = p;
    const auto slice = [&](std::vector<float>& x, int64_t size) {
      x = std::vector<float>(x.begin() + b * size, x.begin() + (b + 1) * size);
    };
    slice(one.q, p.heads * p.queries * p.head_dim);
    slice(one.k, p.kv_heads * p.keys * p.head_dim);
    slice(one.v, p.kv_heads * p.keys * p.value_dim);
    one.batch = 1, one.q_lengths = {p.q_lengths[b]}, one.kv_lengths = {p.kv_lengths[b]};
    Solution<float> want = all;
    slice(want.out, p.heads * p.queries * p.value_dim);
    slice(want.lse, p.heads * p.queries);
    slice(want.weights, p.heads * p.queries * p.keys);
    slice(want.scores, p.heads * p.queries * p.keys);
    EXPECT_TRUE(same_bits(expect_bshd_run(one, w), want)) << "sequence " << b;
  }
}

TEST(AttentionThreads, SmallWorkStaysOnTheCaller) {
  Random random(204);
  const Problem p(random, 2, 4, 4, 12, 12, 16, 16);
  const auto executor = std::make_shared<OneByOne>(4);
  Workspace w = workspace_with({.executor = executor});
  (void)expect_bshd_run(p, w);
  EXPECT_EQ(executor->runs, 0);
}

TEST(AttentionThreads, TheWorkspaceMayUseLessThanItsExecutor) {
  const auto executor = std::make_shared<OneByOne>(100);
  Workspace w = workspace_with({.threads = 3, .executor = executor});
  (void)expect_bshd_run(ragged(210), w);
  EXPECT_EQ(executor->last_tasks, 3);
}

TEST(AttentionThreads, ErrorsOfTheExecutorComeBack) {
  const Problem p = ragged(205);
  const auto executor = std::make_shared<OneByOne>(4);
  Workspace w = workspace_with({.executor = executor});
  executor->result = Status(Code::kResourceExhausted, "no threads left");
  test::Run run = test::run(p, w);
  EXPECT_EQ(run.status.code(), Code::kResourceExhausted);
  EXPECT_EQ(run.status.message(), "no threads left");
  executor->result = {};
  executor->lazy = true;
  run = test::run(p, w);
  EXPECT_EQ(run.status.code(), Code::kInternal) << run.status.to_string();
  executor->lazy = false;
  EXPECT_TRUE(test::run(p, w).status.ok()) << "not usable afterwards";
}

TEST(AttentionThreads, AWorkspaceInUseIsRefused) {
  const Problem p = ragged(206);
  const auto executor = std::make_shared<OneByOne>(2);
  Workspace w = workspace_with({.executor = executor});
  Status inner;
  executor->before = [&] { inner = attention({.head_dim = 1}, w); };
  EXPECT_TRUE(test::run(p, w).status.ok());
  EXPECT_EQ(inner.code(), Code::kInvalidArgument);
  EXPECT_NE(inner.message().find("workspace"), std::string::npos) << inner.message();
  EXPECT_TRUE(attention({.head_dim = 1}, w).ok());
}

TEST(AttentionStop, BeforeDuringAndAfter) {
  const Problem p = ragged(207);
  Workspace w = workspace_with({.threads = 2});
  const Solution<float> want = expect_bshd_run(p, w);
  std::atomic<bool> stop{true};
  const Status status = test::run(p, w, Memory::kBhsd, true, &stop).status;
  EXPECT_EQ(status.code(), Code::kCancelled) << status.to_string();
  // The flag may come at any block; a run that was not cancelled is complete.
  int cancelled = 0;
  for (int pause = 0; pause < 20; ++pause) {
    stop = false;
    std::thread other([&] {
      for (int i = 0; i < pause * 20000; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
      stop = true;
    });
    test::Run run = test::run(p, w, Memory::kBshd, true, &stop);
    other.join();
    if (run.status.ok()) {
      EXPECT_TRUE(same_bits(run.solution, want));
    } else {
      ++cancelled;
      EXPECT_EQ(run.status.code(), Code::kCancelled) << run.status.to_string();
    }
  }
  EXPECT_GT(cancelled, 0);
  EXPECT_TRUE(same_bits(expect_bshd_run(p, w), want)) << "after cancelled runs";
}

TEST(AttentionStop, WrongArgumentsComeFirst) {
  std::atomic<bool> stop{true};
  Workspace w = workspace_with({.threads = 1});
  EXPECT_EQ(attention({.heads = 0, .stop = &stop}, w).code(), Code::kInvalidArgument);
}

// Rounding mode of every thread that takes part: theirs before and after, nearest while kernels run.
TEST(AttentionFloatState, IsTheCallersAgainAndDoesNotChangeBits) {
  Problem p = ragged(208);
  p.q[0] = 1e-40f;  // denormals count as zero, in any state of the caller
  class Upwards : public Executor {
   public:
    const char* name() const override { return "upwards"; }
    int width() const override { return 2; }
    bool concurrent() const override { return true; }
    Status run(int, void (*task)(void* arg, int index, int team), void* arg) override {
      std::thread other([&] {
        std::fesetround(FE_UPWARD);
        task(arg, 1, 2);
        kept = std::fegetround() == FE_UPWARD;
      });
      task(arg, 0, 2);
      other.join();
      return {};
    }
    bool kept = false;
  };
  Workspace plain = workspace_with({.threads = 1});
  const Solution<float> want = expect_bshd_run(p, plain);
  const auto executor = std::make_shared<Upwards>();
  Workspace w = workspace_with({.executor = executor});
  Solution<float> got;
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  got = expect_bshd_run(p, w);
  const int mode = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(mode, FE_UPWARD);
  EXPECT_TRUE(executor->kept);
  EXPECT_TRUE(same_bits(got, want));
}

TEST(AttentionMemory, NothingIsAllocatedOnceWarm) {
  const Problem p = ragged(209);
  Workspace w = workspace_with({.threads = 2});
  std::vector<float> out(p.batch * p.heads * p.queries * p.value_dim);
  const AttentionArgs args{.batch = p.batch,
                           .heads = p.heads,
                           .kv_heads = p.kv_heads,
                           .queries = p.queries,
                           .keys = p.keys,
                           .head_dim = p.head_dim,
                           .value_dim = p.value_dim,
                           .q = bhsd(p.q.data(), p.queries, p.heads, p.head_dim),
                           .k = bhsd(p.k.data(), p.keys, p.kv_heads, p.head_dim),
                           .v = bhsd(p.v.data(), p.keys, p.kv_heads, p.value_dim),
                           .out = bhsd(out.data(), p.queries, p.heads, p.value_dim),
                           .alibi_slopes = p.slopes};
  ASSERT_TRUE(attention(args, w).ok());
  const int64_t bytes = w.bytes(), before = test::allocations();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(attention(args, w).ok());
  EXPECT_EQ(test::allocations(), before);
  EXPECT_EQ(w.bytes(), bytes);
  w.trim();
  EXPECT_EQ(w.bytes(), 0);
  EXPECT_TRUE(attention(args, w).ok());
}

// Scratch is there before the first block, so a run that is stopped at once shows its size without hours of work.
int64_t scratch_bytes(const std::vector<int64_t>& lengths, int64_t heads, int64_t dim, int threads) {
  Workspace w = workspace_with({.executor = std::make_shared<OneByOne>(threads)});
  const std::atomic<bool> stop{true};
  const float none[3] = {};  // not read
  float out = 0;
  const int64_t tokens = *std::max_element(lengths.begin(), lengths.end());
  const AttentionArgs args{.batch = static_cast<int64_t>(lengths.size()),
                           .heads = heads,
                           .queries = tokens,
                           .keys = tokens,
                           .head_dim = dim,
                           .q = bshd(none, tokens, heads, dim),
                           .k = bshd(none + 1, tokens, heads, dim),
                           .v = bshd(none + 2, tokens, heads, dim),
                           .out = bshd(&out, tokens, heads, dim),
                           .kv_lengths = lengths,
                           .stop = &stop};
  EXPECT_EQ(attention(args, w).code(), Code::kCancelled);
  return w.bytes();
}

TEST(AttentionMemory, ScratchOfLongSequencesIsBounded) {
  EXPECT_LE(scratch_bytes({8192}, 12, 64, 2), 24 << 20);
  for (int threads : {1, 4}) {
    for (int64_t tokens : {512, 1024, 8192, 100000}) {
      const int64_t packed = 2 * tokens * 64 * 4;
      EXPECT_LE(scratch_bytes({tokens}, 12, 64, threads), threads * (packed + (4 << 20)))
          << tokens << " tokens, " << threads << " threads";
    }
  }
}

// Whole score rows of 1,000 keys need more than the key tiles of 1,030.
TEST(AttentionMemory, AShorterSequenceMayNeedMore) {
  EXPECT_GE(scratch_bytes({1030, 1000}, 1, 1, 1), scratch_bytes({1000}, 1, 1, 1));
}

}  // namespace
}  // namespace saccade
