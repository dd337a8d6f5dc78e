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

// Calls f(task, slot) for every task in [0, tasks), each with the floating-point state of kernels. At most `width` calls are live
// at once; slot < width is never live twice. With width 1 everything runs on the calling thread and the executor is not used. f
// returns false to end early: no further task begins. f does not throw.
template <class F>
Status parallel_for(Executor* executor, int width, int64_t tasks, F&& f) {
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
  width = static_cast<int>(std::min<int64_t>(width, tasks));
  if (width <= 1) {
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
