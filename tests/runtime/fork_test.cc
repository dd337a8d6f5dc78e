// A program that has run, forks, and runs in the child: nothing may hang there, with any executor. The child reports by its exit
// code; a child that hangs is ended after a deadline.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "saccade/saccade.h"
#include "tests/runtime/small_graph.h"
#include "tests/runtime/threads.h"
#ifdef SACCADE_TEST_OPENMP
#include "saccade/openmp.h"
#endif

namespace saccade {
namespace {

using test::run_on;
using test::thread_count;

// Forks, calls `body` in the child and returns its answer; false when it did not end in 20 seconds.
bool in_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  for (int wait = 0; wait < 20000; ++wait) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return false;
}

// Both calls of a team of two meet.
bool meets(Executor& executor, int* team_seen = nullptr) {
  std::atomic<int> arrived{0}, size{0};
  const Status status = run_on(executor, 2, [&](int, int team) {
    size = team;
    ++arrived;
    while (arrived < team) std::this_thread::yield();
  });
  if (team_seen != nullptr) *team_seen = size;
  return status.ok() && arrived == size;
}

bool meets_as_two(Executor& executor) {
  int team = 0;
  return meets(executor, &team) && team == 2;
}

// ThreadSanitizer ends a forked child that starts a thread. AddressSanitizer's allocator (GCC before 14) does not prepare for a
// fork: where another thread was inside it, its locks stay locked in the child. Left out with any version.
#if defined(__SANITIZE_THREAD__)
#define SACCADE_THREAD_SANITIZER
#elif defined(__SANITIZE_ADDRESS__)
#define SACCADE_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SACCADE_THREAD_SANITIZER
#elif __has_feature(address_sanitizer)
#define SACCADE_ADDRESS_SANITIZER
#endif
#endif
#ifdef SACCADE_THREAD_SANITIZER
#define SACCADE_SKIP_FORK GTEST_SKIP() << "ThreadSanitizer: no threads after a fork"
#else
#define SACCADE_SKIP_FORK static_cast<void>(0)
#endif
#ifdef SACCADE_ADDRESS_SANITIZER
#define SACCADE_SKIP_FORK_BESIDE_THREADS GTEST_SKIP() << "AddressSanitizer: its allocator's locks are copied by a fork"
#else
#define SACCADE_SKIP_FORK_BESIDE_THREADS SACCADE_SKIP_FORK
#endif

void fork_test(const std::function<std::shared_ptr<Executor>()>& make) {
  std::shared_ptr<Executor> executor = make();
  ASSERT_TRUE(executor != nullptr);
  ASSERT_TRUE(meets(*executor));
  for (int repeat = 0; repeat < 3; ++repeat) {
    EXPECT_TRUE(in_child([&] { return meets_as_two(*executor) && meets_as_two(*executor); }));
    EXPECT_TRUE(meets(*executor)) << "the parent goes on";
  }
  // A child's child.
  EXPECT_TRUE(in_child(
      [&] { return meets_as_two(*executor) && in_child([&] { return meets_as_two(*executor); }) && meets_as_two(*executor); }));
  // An executor made in the child, beside the parent's.
  EXPECT_TRUE(in_child([&] {
    const auto own = make();
    return own != nullptr && meets_as_two(*own) && meets_as_two(*executor);
  }));
  // The child drops what it got from its parent without using it, then makes its own.
  EXPECT_TRUE(in_child([&] {
    executor.reset();
    const auto own = make();
    return own != nullptr && meets_as_two(*own);
  }));
  // Several threads of the child come first at once.
  EXPECT_TRUE(in_child([&] {
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { good += meets(*executor) ? 1 : 0; });
    for (auto& thread : threads) thread.join();
    return good == 4 && meets_as_two(*executor);
  }));
  EXPECT_TRUE(meets(*executor));
}

std::shared_ptr<Executor> pool() {
  auto made = pool_executor({.threads = 2});
  return made.ok() ? *made : nullptr;
}

TEST(Fork, Pool) {
  SACCADE_SKIP_FORK;
  fork_test(pool);
  // Workers of the child are joined with its last owner.
  const auto executor = pool();
  ASSERT_TRUE(meets(*executor));
  EXPECT_TRUE(in_child([&] {
    {
      const auto own = pool();
      if (!meets_as_two(*own) || thread_count() != 2) return false;
    }
    return test::thread_count_becomes(1);
  }));
}

// Children forked while other threads are inside runs and inside making and dropping pools.
TEST(Fork, PoolInUse) {
  SACCADE_SKIP_FORK_BESIDE_THREADS;
  const auto executor = pool();
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  busy.emplace_back([&] {
    while (!stop) EXPECT_TRUE(meets(*executor));
  });
  busy.emplace_back([&] {
    while (!stop) EXPECT_TRUE(meets(*pool()));
  });
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_TRUE(in_child([&] {
      const auto own = pool();
      return meets_as_two(*executor) && meets_as_two(*own);
    }));
  }
  stop = true;
  for (auto& thread : busy) thread.join();
}

// A whole run: the child's rows are the parent's, bit for bit.
TEST(Fork, Context) {
  SACCADE_SKIP_FORK;
  test::SmallGraph graph(2);
  ASSERT_TRUE(graph.run().ok());
  const std::vector<float> first = graph.rows();
  for (int repeat = 0; repeat < 3; ++repeat) {
    EXPECT_TRUE(in_child([&] { return graph.run().ok() && graph.rows() == first; }));
    EXPECT_TRUE(in_child([&] {
      test::SmallGraph own(2);
      return own.run().ok() && own.rows() == first;
    }));
    ASSERT_TRUE(graph.run().ok());
    EXPECT_EQ(graph.rows(), first);
  }
}

#ifdef SACCADE_TEST_OPENMP
TEST(Fork, OpenMp) {
  fork_test([]() -> std::shared_ptr<Executor> {
    auto made = openmp_executor(2);
    return made.ok() ? *made : nullptr;
  });
}
#endif

}  // namespace
}  // namespace saccade
