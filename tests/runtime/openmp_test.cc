// The OpenMP executor: teams, limits and settings of the process, nesting, exceptions. Forked children are in fork_test.
#include "saccade/openmp.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "saccade/machine.h"
#include "tests/runtime/threads.h"

namespace saccade {
namespace {

using test::run_on;

std::shared_ptr<Executor> openmp(int threads) {
  auto executor = openmp_executor(threads);
  EXPECT_TRUE(executor.ok()) << executor.status().message();
  return executor.ok() ? *executor : nullptr;
}

// What OMP_THREAD_LIMIT leaves; CTest runs this program with the limit 1 too.
int allowed(int team) { return std::min(team, omp_get_thread_limit()); }

TEST(OpenMpExecutor, RunsEveryIndexOfTheTeamOnce) {
  for (int width : {1, 2, 3, 5}) {
    const auto executor = openmp(width);
    EXPECT_EQ(executor->width(), width);
    EXPECT_TRUE(executor->concurrent());
    EXPECT_STREQ(executor->name(), "openmp");
    for (int tasks : {0, 1, 2, 3, 4, 6, 100}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(tasks) + 1);
      ASSERT_TRUE(run_on(*executor, tasks, [&](int index, int team) {
                    EXPECT_EQ(team, std::min(tasks, allowed(width)));
                    ++calls[static_cast<size_t>(index)];
                  }).ok());
      for (int i = 0; i < tasks; ++i) EXPECT_EQ(calls[static_cast<size_t>(i)], i < allowed(width) ? 1 : 0);
    }
  }
}

// Deadlocks (and meets CTest's timeout) unless all calls are live at once.
TEST(OpenMpExecutor, AllCallsOfATeamAreLiveAtOnce) {
  const auto executor = openmp(4);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::atomic<int> arrived{0};
    ASSERT_TRUE(run_on(*executor, 4, [&](int, int team) {
                  ++arrived;
                  while (arrived < team) std::this_thread::yield();
                }).ok());
    EXPECT_EQ(arrived, allowed(4));
  }
}

TEST(OpenMpExecutor, ANestedRunTakesWhatOpenMpGives) {
  const auto executor = openmp(2);
  std::atomic<int> inner{0};
  ASSERT_TRUE(run_on(*executor, 2, [&](int, int) {
                EXPECT_TRUE(run_on(*executor, 2, [&](int, int team) {
                              EXPECT_EQ(team, 1);  // one level of parallelism is OpenMP's default
                              ++inner;
                            }).ok());
              }).ok());
  EXPECT_EQ(inner, allowed(2));
  // The same in a region of the embedding program.
  inner = 0;
#pragma omp parallel num_threads(2)
  {
    EXPECT_TRUE(run_on(*executor, 2, [&](int, int team) { inner += team; }).ok());
  }
  EXPECT_EQ(inner, allowed(2));
}

TEST(OpenMpExecutor, LeavesSettingsAlone) {
  const int threads = omp_get_max_threads(), levels = omp_get_max_active_levels(), dynamic = omp_get_dynamic();
  const auto executor = openmp(3);
  ASSERT_TRUE(run_on(*executor, 3, [](int, int) {}).ok());
  EXPECT_EQ(omp_get_max_threads(), threads);
  EXPECT_EQ(omp_get_max_active_levels(), levels);
  EXPECT_EQ(omp_get_dynamic(), dynamic);
}

TEST(OpenMpExecutor, SurvivesAnExceptionInATask) {
  const auto executor = openmp(3);
  EXPECT_EQ(run_on(*executor, 3, [&](int, int) { throw std::runtime_error("no"); }).code(), Code::kInternal);
  EXPECT_TRUE(run_on(*executor, 3, [](int, int) {}).ok());
}

TEST(OpenMpExecutor, ManyHostThreads) {
  const auto executor = openmp(2);
  std::atomic<int> calls{0};
  std::vector<std::thread> hosts;
  for (int h = 0; h < 4; ++h) {
    hosts.emplace_back([&] {
      for (int run = 0; run < 50; ++run)
        EXPECT_TRUE(run_on(*executor, 2, [&](int index, int) { calls += index == 0 ? 1 : 0; }).ok());
    });
  }
  for (auto& host : hosts) host.join();
  EXPECT_EQ(calls, 200);
}

TEST(OpenMpExecutor, RefusesBadOptions) {
  EXPECT_EQ(openmp_executor(-1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(openmp_executor(100000).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(openmp(2)->run(2, nullptr, nullptr).code(), Code::kInvalidArgument);
  EXPECT_EQ(openmp(0)->width(), resolve_threads(0));
}

}  // namespace
}  // namespace saccade
