// Memory: nothing is allocated by a warm context, the arena grows to the largest batch, contexts share weights.
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>

#include "tests/support/host.h"
#include "tests/support/runs.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SACCADE_COUNT_ALLOCATIONS 0  // the sanitizer has its own malloc
#elif defined(__GLIBC__)
#define SACCADE_COUNT_ALLOCATIONS 1
#else
#define SACCADE_COUNT_ALLOCATIONS 0
#endif

static std::atomic<int64_t> allocations{0};

#if SACCADE_COUNT_ALLOCATIONS
// Every allocation of the process comes through here, operator new and the library's included.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void* malloc(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? 12 : 0;
}
}
#endif

namespace saccade::test {
namespace {

constexpr EncoderShape kBert{.layers = 2, .width = 48, .heads = 4, .kv_heads = 4, .ffn = 80};
constexpr EncoderShape kModern{.layers = 2, .width = 64, .heads = 4, .kv_heads = 2, .ffn = 72, .modern = true};

TEST(Memory, AWarmContextAllocatesNothing) {
#if !SACCADE_COUNT_ALLOCATIONS
  GTEST_SKIP() << "allocations cannot be counted in this build";
#endif
  const auto one_after_the_other = [](void*, int tasks, void (*task)(void*, int), void* arg) {
    for (int i = 0; i < tasks; ++i) task(arg, i);
  };
  for (const EncoderShape& shape : {kBert, kModern}) {
    const EncoderWeights e = random_encoder(shape, 1);
    for (Pooling pooling : {Pooling::kMean, Pooling::kLast}) {
      const bool both = pooling == Pooling::kMean;
      auto plan = Plan::compile(encoder_graph(e, {.tokens = both, .pooled = true, .pooling = pooling}));
      ASSERT_TRUE(plan.ok());
      for (const auto& executor : {std::shared_ptr<Executor>(), host(3, one_after_the_other)}) {
        auto context = Context::create(*plan, {.threads = 3, .executor = executor});
        ASSERT_TRUE(context.ok());
        const int64_t w = shape.width;
        std::vector<int64_t> ids(8 * 60, 3), long_lengths = {60, 1, 30, 0, 50, 60, 9, 60}, short_lengths = {3, 2};
        std::vector<uint8_t> mask(8 * 60, 0);
        for (size_t i = 0; i < mask.size(); ++i) mask[i] = i % 60 > 7 && i % 5 != 0;
        std::vector<float> tokens(8 * 60 * static_cast<size_t>(w)), vectors(8 * static_cast<size_t>(w));
        Batch batch;
        const auto run = [&](int kind) {
          if (kind == 0) batch.assign_lengths(long_lengths);
          if (kind == 1) batch.assign_lengths(short_lengths);
          if (kind == 2) batch.assign_mask(mask.data(), {.sequences = 8, .max_length = 60});
          const int64_t rows = batch.tokens(), sequences = batch.sequences();
          const bool padded_rows = kind == 2;
          const Input inputs[] = {
              {"ids", padded_rows ? padded(ConstMatrix(ids.data(), 480)) : packed(ConstMatrix(ids.data(), rows))}};
          const Output outputs[] = {
              {"pooled", packed(Matrix(vectors.data(), sequences, w))},
              {"tokens", padded_rows ? padded(Matrix(tokens.data(), 480, w)) : packed(Matrix(tokens.data(), rows, w))}};
          const Status status = context->run(batch, inputs, std::span(outputs).first(both ? 2 : 1));
          if (!status.ok()) ADD_FAILURE() << status.to_string();
        };
        for (int kind : {0, 1, 2}) run(kind);
        const int64_t before = allocations.load();
        for (int i = 0; i < 30; ++i) run(i % 3);
        EXPECT_EQ(allocations.load() - before, 0);
      }
    }
  }
}

TEST(Memory, ReserveSetsTheArenaAheadAndTrimGivesItBack) {
  const EncoderWeights e = random_encoder(kBert, 1);
  const Graph graph = encoder_graph(e, {});
  auto plan = Plan::compile(graph);
  ASSERT_TRUE(plan.ok());
  auto context = Context::create(*plan, {.threads = 1});
  ASSERT_TRUE(context.ok());
  EXPECT_EQ(context->arena_bytes(), 0);
  ASSERT_TRUE(context->reserve(200, 4).ok());
  const int64_t reserved = context->arena_bytes();
  EXPECT_GT(reserved, 200 * 48 * 4);
  const Outputs want = run_context(*context, graph, EncoderBatch(kBert, {60, 60, 20, 60}, 2));
  EXPECT_EQ(context->arena_bytes(), reserved);
  context->trim();
  EXPECT_EQ(context->arena_bytes(), 0);
  EXPECT_EQ(run_context(*context, graph, EncoderBatch(kBert, {60, 60, 20, 60}, 2)), want);
}

TEST(Memory, ContextsAddNoWeights) {
  const EncoderShape wide{.layers = 2, .width = 512, .heads = 8, .kv_heads = 8, .ffn = 2048, .positions = 64};
  const EncoderWeights e = random_encoder(wide, 1);
  auto plan = Plan::compile(encoder_graph(e, {}));
  ASSERT_TRUE(plan.ok());
  const auto resident = [] {
    std::ifstream statm("/proc/self/statm");
    int64_t total = 0, pages = 0;
    statm >> total >> pages;
    return pages * sysconf(_SC_PAGESIZE);
  };
  const int64_t before = resident();
  std::vector<Context> contexts;
  for (int i = 0; i < 8; ++i) contexts.push_back(*Context::create(*plan, {.threads = 1}));
  EXPECT_GT(plan->weight_bytes(), int64_t{20} << 20);
  EXPECT_LT(resident() - before, plan->weight_bytes() / 2);
}

TEST(Memory, FullRandomShapesStayWithinTheStatedWorkspace) {
  constexpr int64_t kSequences = 8, kLongest = 40;
  const EncoderWeights e = random_encoder(kBert, 1);
  auto plan = Plan::compile(encoder_graph(e, {.tokens = true, .pooled = true}));
  ASSERT_TRUE(plan.ok());
  auto context = Context::create(*plan);
  ASSERT_TRUE(context.ok());
  const std::vector<int32_t> ids(kSequences * kLongest, 3);
  std::vector<float> tokens(ids.size() * static_cast<size_t>(kBert.width));
  std::vector<float> vectors(static_cast<size_t>(kSequences * kBert.width));
  const int64_t stated = plan->workspace_bytes(kSequences * kLongest, kSequences);
  Random random(4);
  Batch batch;
  std::vector<int64_t> lengths;
  for (int i = 0; i < 10000; ++i) {
    lengths.resize(static_cast<size_t>(random.integer(0, kSequences)));
    for (int64_t& length : lengths) length = random.integer(0, kLongest);
    batch.assign_lengths(lengths);
    const Input input{"ids", packed(ConstMatrix(ids.data(), batch.tokens()))};
    const Output outputs[] = {{"tokens", packed(Matrix(tokens.data(), batch.tokens(), kBert.width))},
                              {"pooled", packed(Matrix(vectors.data(), batch.sequences(), kBert.width))}};
    const Status status = context->run(batch, std::span(&input, 1), outputs);
    ASSERT_TRUE(status.ok()) << status.to_string();
    ASSERT_LE(context->arena_bytes(), stated) << "call " << i << ", " << batch.tokens() << " tokens";
  }
}

// Every value gets NaN where it was not written in this run: a value read before it is written, or over another that is still
// needed, would show.
TEST(Memory, ValuesDoNotLieOverEachOther) {
  for (const EncoderShape& shape : {kBert, kModern}) {
    const EncoderWeights e = random_encoder(shape, 1);
    const EncoderBatch batch(shape, {30, 1, 60, 0, 17}, 2);
    const EncoderBatch other(shape, {60, 60, 60, 60, 60, 60}, 3);
    const EncoderOptions options{.tokens = true, .pooled = true};
    const Outputs want = run_encoder(e, options, batch);
    const Graph graph = encoder_graph(e, options);
    auto plan = Plan::compile(graph);
    ASSERT_TRUE(plan.ok());
    auto context = Context::create(*plan, {.threads = 2});
    ASSERT_TRUE(context.ok());
    run_context(*context, graph, other);  // leaves its numbers in the arena
    EXPECT_EQ(run_context(*context, graph, batch), want);
  }
}

}  // namespace
}  // namespace saccade::test
