// openmp_executor(): one parallel region per run. The only file with omp.h, in a library of its own.
#include <omp.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <new>
#include <string>

#include "saccade/machine.h"
#include "saccade/openmp.h"

namespace saccade {
inline namespace v0 {
namespace {

// As the pool's limit: far above the cores of any machine.
constexpr int kMaxThreads = 1024;

// The process in which the first executor was made. libgomp's threads may exist there and do not exist in its children, where the
// next region of a thread that had a team hangs.
constinit std::atomic<pid_t> home{0};

bool at_home() {
  const pid_t self = getpid();
  pid_t first = 0;
  return home.compare_exchange_strong(first, self, std::memory_order_relaxed) || first == self;
}

class OpenMpExecutor final : public Executor {
 public:
  explicit OpenMpExecutor(int width) : width_(width) {}
  ~OpenMpExecutor() override { delete fallback_.load(std::memory_order_relaxed); }
  OpenMpExecutor(const OpenMpExecutor&) = delete;
  OpenMpExecutor& operator=(const OpenMpExecutor&) = delete;

  const char* name() const override { return at_home() ? "openmp" : "pool"; }
  int width() const override { return width_; }
  bool concurrent() const override { return true; }

  Status run(int tasks, void (*task)(void* arg, int index, int team), void* arg) override {
    if (task == nullptr) return Status(Code::kInvalidArgument, "openmp: task: expected a function, got null");
    if (tasks <= 0) return {};
    if (!at_home()) return run_in_child(tasks, task, arg);
    std::atomic<bool> failed{false};
    const auto call = [&](int index, int team) noexcept {
      try {  // no exception may leave a parallel region
        task(arg, index, team);
      } catch (...) {
        failed.store(true, std::memory_order_relaxed);
      }
    };
    if (tasks == 1 || width_ == 1) {
      call(0, 1);
    } else {
      // Always the same team size: libgomp ends and starts threads when it changes. What OpenMP gives may be less (nested
      // regions, OMP_THREAD_LIMIT, dynamic teams).
#pragma omp parallel num_threads(width_) default(none) shared(call, tasks)
      {
        const int given = omp_get_num_threads(), index = omp_get_thread_num();
        const int team = given < tasks ? given : tasks;
        if (index < team) call(index, team);
      }
    }
    return failed.load(std::memory_order_relaxed) ? Status(Code::kInternal, "openmp: a task let an exception out") : Status();
  }

 private:
  using Shared = std::shared_ptr<Executor>;

  // A forked child: the library's own pool, made by whichever thread of the child comes first. The pool knows about further
  // forks.
  Status run_in_child(int tasks, void (*task)(void* arg, int index, int team), void* arg) {
    Shared* pool = fallback_.load(std::memory_order_acquire);
    if (pool == nullptr) {
      auto made = pool_executor({.threads = width_});
      if (!made.ok()) return made.status();
      Shared* mine = new (std::nothrow) Shared(*std::move(made));
      if (mine == nullptr) return Status(Code::kResourceExhausted, "openmp: out of memory");
      if (fallback_.compare_exchange_strong(pool, mine, std::memory_order_acq_rel)) {
        pool = mine;
      } else {
        delete mine;
      }
    }
    return (*pool)->run(tasks, task, arg);
  }

  const int width_;
  std::atomic<Shared*> fallback_{nullptr};
};

}  // namespace

Result<std::shared_ptr<Executor>> openmp_executor(int threads) {
  if (threads < 0 || threads > kMaxThreads) {
    return Status(Code::kInvalidArgument,
                  "openmp_executor: threads: expected 0 to " + std::to_string(kMaxThreads) + ", got " + std::to_string(threads));
  }
  (void)at_home();
  try {
    return std::shared_ptr<Executor>(std::make_shared<OpenMpExecutor>(resolve_threads(threads)));
  } catch (const std::bad_alloc&) {
    return Status(Code::kResourceExhausted, "openmp_executor: out of memory");
  }
}

}  // namespace v0
}  // namespace saccade
