// Sharing independent tasks among the threads of an executor.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "runtime/execute/float_state.h"
#include "runtime/graph/check.h"
#include "saccade/executor.h"

namespace saccade {
inline namespace v0 {

// Calls of f that parallel_for may have live at once, which is also the number of its slots.
inline int parallel_width(const Executor* executor, int64_t tasks) {
  if (executor == nullptr || tasks <= 1) return 1;
  return static_cast<int>(std::clamp<int64_t>(tasks, 1, std::max(1, executor->width())));
}

// Calls f(task, slot) for every task in [0, tasks), each with the floating-point state of kernels; slot < parallel_width() is
// never live twice. Without an executor, or with one task, everything runs on the calling thread. f returns false to end early:
// no further task begins. f does not throw.
template <class F>
Status parallel_for(Executor* executor, int64_t tasks, F&& f) {
  struct Work {
    std::remove_reference_t<F>& f;
    int64_t tasks;
    std::atomic<int64_t> next{0};
    static void run(void* arg, int index, int) {
      Work& work = *static_cast<Work*>(arg);
      const FloatState state;
      while (true) {
        const int64_t task = work.next.fetch_add(1, std::memory_order_relaxed);
        if (task >= work.tasks) return;
        if (!work.f(task, index)) {
          work.next.store(work.tasks, std::memory_order_relaxed);
          return;
        }
      }
    }
  };
  if (tasks <= 0) return {};
  Work work{f, tasks};
  const int width = parallel_width(executor, tasks);
  if (width == 1) {
    Work::run(&work, 0, 1);
    return {};
  }
  Status status = executor->run(width, Work::run, &work);
  if (status.ok() && work.next.load(std::memory_order_relaxed) < tasks) {
    return Status(Code::kInternal, text("executor ", executor->name(), ": run() returned before its tasks were done"));
  }
  return status;
}

}  // namespace v0
}  // namespace saccade
