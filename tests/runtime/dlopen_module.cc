// What an embedding program's plugin does: runs on executors of its own and leaves nothing behind. Loaded by dlopen_test.
#include <atomic>

#include "saccade/saccade.h"
#include "tests/runtime/small_graph.h"
#include "tests/runtime/threads.h"
#ifdef SACCADE_TEST_OPENMP
#include "saccade/openmp.h"
#endif

namespace {

// Calls made by two runs of a team of up to 3; -1 when something failed.
int calls_of(const saccade::Result<std::shared_ptr<saccade::Executor>>& executor) {
  if (!executor.ok()) return -1;
  std::atomic<int> calls{0};
  for (int run = 0; run < 2; ++run) {
    if (!saccade::test::run_on(**executor, 3, [&](int, int) { ++calls; }).ok()) return -1;
  }
  return calls;
}

}  // namespace

extern "C" SACCADE_EXPORT int saccade_test_run() {
  int calls = calls_of(saccade::pool_executor({.threads = 3}));
  const saccade::HostExecutor host{.self = nullptr,
                                   .width = [](void*) { return 1; },
                                   .run =
                                       [](void*, int tasks, void (*task)(void*, int), void* arg) {
                                         for (int i = 0; i < tasks; ++i) task(arg, i);
                                       }};
  calls += calls_of(saccade::host_executor(host));
#ifdef SACCADE_TEST_OPENMP
  if (calls_of(saccade::openmp_executor(3)) < 2) return -1;
#endif
  saccade::test::SmallGraph graph(3);
  if (!graph.run().ok()) return -1;
  return saccade::machine().threads > 0 ? calls : -1;
}
