// The contract of Executor on the library's pool and on the host's threads: team sizes, all calls of a team live at once, what a
// taken pool does, how many threads there are and when they go, exceptions, and idle workers.
#include "saccade/executor.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>

#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "saccade/machine.h"
#include "tests/runtime/threads.h"

namespace saccade {
namespace {

using test::run_on;
using test::thread_count;
using test::thread_count_becomes;

std::shared_ptr<Executor> pool(int threads, int spin_us = 50) {
  auto executor = pool_executor({.threads = threads, .spin_us = spin_us});
  EXPECT_TRUE(executor.ok()) << executor.status().message();
  return executor.ok() ? *executor : nullptr;
}

TEST(PoolExecutor, RunsEveryIndexOfTheTeamOnce) {
  for (int width : {1, 2, 3, 5}) {
    for (int spin_us : {0, 50}) {
      const auto executor = pool(width, spin_us);
      EXPECT_EQ(executor->width(), width);
      EXPECT_TRUE(executor->concurrent());
      EXPECT_STREQ(executor->name(), "pool");
      for (int tasks : {0, 1, 2, 3, 4, 5, 6, 100}) {
        std::vector<std::atomic<int>> calls(static_cast<size_t>(tasks) + 1);
        const Status status = run_on(*executor, tasks, [&](int index, int team) {
          EXPECT_EQ(team, std::min(tasks, width));
          ASSERT_GE(index, 0);
          ASSERT_LT(index, team);
          ++calls[static_cast<size_t>(index)];
        });
        EXPECT_TRUE(status.ok());
        for (int i = 0; i < tasks; ++i) EXPECT_EQ(calls[static_cast<size_t>(i)], i < width ? 1 : 0);
      }
    }
  }
}

// Deadlocks (and meets CTest's timeout) unless all calls are live at once.
TEST(PoolExecutor, AllCallsOfATeamAreLiveAtOnce) {
  for (int spin_us : {0, 50}) {
    const auto executor = pool(4, spin_us);
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::atomic<int> arrived{0};
      std::set<std::thread::id> ids;
      std::mutex mutex;
      ASSERT_TRUE(run_on(*executor, 4, [&](int, int team) {
                    ++arrived;
                    while (arrived < team) std::this_thread::yield();
                    std::lock_guard lock(mutex);
                    ids.insert(std::this_thread::get_id());
                  }).ok());
      EXPECT_EQ(ids.size(), 4u);
      EXPECT_TRUE(ids.contains(std::this_thread::get_id()));
    }
  }
}

TEST(PoolExecutor, ANestedRunIsAlone) {
  const auto executor = pool(3);
  std::atomic<int> inner{0};
  ASSERT_TRUE(run_on(*executor, 3, [&](int, int) {
                const auto caller = std::this_thread::get_id();
                EXPECT_TRUE(run_on(*executor, 3, [&](int index, int team) {
                              EXPECT_EQ(index, 0);
                              EXPECT_EQ(team, 1);
                              EXPECT_EQ(std::this_thread::get_id(), caller);
                              ++inner;
                            }).ok());
              }).ok());
  EXPECT_EQ(inner, 3);
}

TEST(PoolExecutor, ATakenPoolRunsOnItsCallerAlone) {
  const auto executor = pool(2), second = pool(2);
  std::atomic<bool> taken{false}, release{false};
  std::thread holder([&] {
    EXPECT_TRUE(run_on(*executor, 2, [&](int, int team) {
                  EXPECT_EQ(team, 2);
                  taken = true;
                  while (!release) std::this_thread::yield();
                }).ok());
  });
  while (!taken) std::this_thread::yield();
  for (const auto& each : {executor, second}) {
    int calls = 0;
    EXPECT_TRUE(run_on(*each, 2, [&](int, int team) {
                  EXPECT_EQ(team, 1);
                  ++calls;
                }).ok());
    EXPECT_EQ(calls, 1);
  }
  release = true;
  holder.join();
  EXPECT_TRUE(run_on(*executor, 2, [&](int, int team) { EXPECT_EQ(team, 2); }).ok());
}

TEST(PoolExecutor, ManyHostThreadsShareTheWorkers) {
  const int before = thread_count();
  constexpr int kHosts = 6, kWidth = 3, kRuns = 300;
  std::atomic<int> most{0};
  std::atomic<int64_t> sum{0}, expected{0};
  {
    const auto first = pool(kWidth, 0);
    std::vector<std::thread> hosts;
    for (int h = 0; h < kHosts; ++h) {
      hosts.emplace_back([&] {
        const auto own = pool(kWidth, 0);
        for (int run = 0; run < kRuns; ++run) {
          std::atomic<int> calls{0};
          int team_seen = 0;
          EXPECT_TRUE(run_on(*own, kWidth, [&](int index, int team) {
                        if (index == 0) team_seen = team;
                        ++calls;
                        ++sum;
                      }).ok());
          EXPECT_EQ(calls, team_seen);
          expected += team_seen;
          if (run % 50 == 0) most = std::max(most.load(), thread_count());
        }
      });
    }
    for (auto& host : hosts) host.join();
  }
  EXPECT_EQ(sum, expected);
  EXPECT_LE(most - before, kHosts + kWidth - 1);
  EXPECT_TRUE(thread_count_becomes(before));  // joined with the last owner
}

TEST(PoolExecutor, GrowsToTheWidestAndEachHandleKeepsItsWidth) {
  const int before = thread_count();
  auto narrow = pool(2);
  EXPECT_EQ(thread_count(), before + 1);
  auto wide = pool(5);
  EXPECT_EQ(thread_count(), before + 4);
  for (int repeat = 0; repeat < 100; ++repeat) {
    ASSERT_TRUE(run_on(*narrow, 8, [](int, int team) { EXPECT_EQ(team, 2); }).ok());
    ASSERT_TRUE(run_on(*wide, 8, [](int, int team) { EXPECT_EQ(team, 5); }).ok());
  }
  wide.reset();
  ASSERT_TRUE(run_on(*narrow, 8, [](int, int team) { EXPECT_EQ(team, 2); }).ok());
  narrow.reset();
  EXPECT_TRUE(thread_count_becomes(before));
  auto single = pool(1);
  EXPECT_TRUE(thread_count_becomes(before));
}

TEST(PoolExecutor, GrowsWhileARunIsGoingOn) {
  const auto executor = pool(2);
  EXPECT_TRUE(run_on(*executor, 2, [&](int index, int) {
                if (index != 0) return;
                const auto wider = pool(4);  // taken: runs alone for now
                EXPECT_TRUE(run_on(*wider, 4, [](int, int team) { EXPECT_EQ(team, 1); }).ok());
              }).ok());
}

TEST(PoolExecutor, SurvivesAnExceptionInATask) {
  const auto executor = pool(3);
  for (int bad : {0, 2}) {
    const Status status = run_on(*executor, 3, [&](int index, int) {
      if (index == bad) throw std::runtime_error("no");
    });
    EXPECT_EQ(status.code(), Code::kInternal);
    EXPECT_TRUE(run_on(*executor, 3, [](int, int) {}).ok());
  }
  const auto single = pool(1);
  EXPECT_EQ(run_on(*single, 1, [](int, int) { throw 1; }).code(), Code::kInternal);
}

TEST(PoolExecutor, IdleWorkersSleep) {
  for (int spin_us : {0, 50}) {
    const auto executor = pool(4, spin_us);
    ASSERT_TRUE(run_on(*executor, 4, [](int, int) {}).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    getrusage(RUSAGE_SELF, &after);
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
    // Three spinning workers would use up to 0.6 s.
    EXPECT_LT(seconds(after.ru_utime) + seconds(after.ru_stime) - seconds(before.ru_utime) - seconds(before.ru_stime), 0.02);
  }
}

TEST(PoolExecutor, RefusesBadOptions) {
  EXPECT_EQ(pool_executor({.threads = -1}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(pool_executor({.threads = 100000}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(pool_executor({.threads = 2, .spin_us = -1}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(pool(2)->run(2, nullptr, nullptr).code(), Code::kInvalidArgument);
  EXPECT_EQ(pool(0)->width(), resolve_threads(0));
}

TEST(PoolExecutor, ThreadsThatCannotBeHadAreAStatus) {
  // No address space holds a stack of 2^46 bytes beside another one.
  pthread_attr_t before, huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 46), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  const auto executor = pool_executor({.threads = 8});
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  EXPECT_EQ(executor.status().code(), Code::kResourceExhausted) << executor.status().message();
  EXPECT_EQ(pool(2)->width(), 2);
}

// A host that runs its tasks one after another, backwards, on the calling thread.
struct SerialHost {
  int width = 4;
  int skip = -1;      // index not run
  int extra = -1000;  // index run besides
  HostExecutor c() {
    return {.self = this,
            .width = [](void* self) { return static_cast<SerialHost*>(self)->width; },
            .run =
                [](void* self, int tasks, void (*task)(void*, int), void* arg) {
                  const auto& host = *static_cast<SerialHost*>(self);
                  for (int i = tasks - 1; i >= 0; --i) {
                    if (i != host.skip) task(arg, i);
                  }
                  if (host.extra != -1000) task(arg, host.extra);
                }};
  }
};

TEST(HostExecutor, RunsOnTheHostsTerms) {
  SerialHost host;
  const auto executor = host_executor(host.c());
  ASSERT_TRUE(executor.ok());
  EXPECT_EQ((*executor)->width(), 4);
  EXPECT_FALSE((*executor)->concurrent());
  EXPECT_STREQ((*executor)->name(), "host");
  std::vector<int> order;
  ASSERT_TRUE(run_on(**executor, 3, [&](int index, int team) {
                EXPECT_EQ(team, 3);
                order.push_back(index);
                // Calls back into the executor are legal.
                EXPECT_TRUE(run_on(**executor, 2, [](int, int inner) { EXPECT_EQ(inner, 2); }).ok());
              }).ok());
  EXPECT_EQ(order, (std::vector<int>{2, 1, 0}));
  EXPECT_TRUE(run_on(**executor, 0, [](int, int) { FAIL(); }).ok());
}

TEST(HostExecutor, ReportsAHostThatBreaksItsContract) {
  SerialHost skips{.skip = 1}, strays{.extra = 7};
  for (SerialHost* host : {&skips, &strays}) {
    const auto executor = host_executor(host->c());
    ASSERT_TRUE(executor.ok());
    const Status status = run_on(**executor, 3, [](int index, int team) { EXPECT_LT(index, team); });
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.message();
  }
  SerialHost fine;
  const auto executor = host_executor(fine.c());
  EXPECT_EQ(run_on(**executor, 3, [](int, int) { throw 1; }).code(), Code::kInternal);
  EXPECT_EQ((*executor)->run(1, nullptr, nullptr).code(), Code::kInvalidArgument);
}

TEST(HostExecutor, RefusesAnIncompleteStruct) {
  SerialHost host;
  HostExecutor c = host.c();
  c.width = nullptr;
  EXPECT_EQ(host_executor(c).status().code(), Code::kInvalidArgument);
  c = host.c();
  c.run = nullptr;
  EXPECT_EQ(host_executor(c).status().code(), Code::kInvalidArgument);
  host.width = 0;
  EXPECT_EQ(host_executor(host.c()).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace saccade
