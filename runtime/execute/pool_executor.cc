// pool_executor(): a handle with a width of its own on the pool of the process.
#include <unistd.h>

#include <atomic>
#include <memory>
#include <new>
#include <string>

#include "runtime/execute/pool.h"
#include "saccade/executor.h"
#include "saccade/machine.h"

namespace saccade {
inline namespace v0 {
namespace {

using execute::Pool;

class PoolExecutor final : public Executor {
 public:
  PoolExecutor(int width, int spin_us, Pool* pool) : width_(width), spin_us_(spin_us), pool_(pool) {}
  ~PoolExecutor() override {
    const Pool* pool = pool_.load(std::memory_order_relaxed);
    if (pool != nullptr && pool->process() == getpid()) execute::release_pool();
  }
  PoolExecutor(const PoolExecutor&) = delete;
  PoolExecutor& operator=(const PoolExecutor&) = delete;

  const char* name() const override { return "pool"; }
  int width() const override { return width_; }
  bool concurrent() const override { return true; }

  Status run(int tasks, void (*task)(void* arg, int index, int team), void* arg) override {
    if (task == nullptr) return Status(Code::kInvalidArgument, "pool: task: expected a function, got null");
    if (tasks <= 0) return {};
    bool ok = true;
    Pool* pool = width_ > 1 && tasks > 1 ? pool_here() : nullptr;
    if (pool != nullptr) {
      ok = pool->run(tasks < width_ ? tasks : width_, spin_us_, task, arg);
    } else {
      ok = execute::run_alone(task, arg);
    }
    // Tasks are expected to catch for themselves; this keeps the pool usable when one does not.
    return ok ? Status() : Status(Code::kInternal, "pool: a task let an exception out");
  }

 private:
  // The pool, or in a forked child a new one with as many threads as can be had. Several threads of the child may come here at
  // once: the first one's pool stays, and it is the same pool anyway.
  Pool* pool_here() {
    Pool* pool = pool_.load(std::memory_order_acquire);
    if (pool->process() == getpid()) return pool;
    int threads = width_;
    Pool* fresh = execute::acquire_pool(&threads);
    if (fresh == nullptr) return nullptr;
    if (pool_.compare_exchange_strong(pool, fresh, std::memory_order_acq_rel)) return fresh;
    execute::release_pool();
    return pool;
  }

  const int width_;
  const int spin_us_;
  std::atomic<Pool*> pool_;  // null when the width is 1
};

Status argument_error(const char* argument, int value, const std::string& expected) {
  return Status(Code::kInvalidArgument,
                std::string("pool_executor: ") + argument + ": expected " + expected + ", got " + std::to_string(value));
}

}  // namespace

Result<std::shared_ptr<Executor>> pool_executor(const PoolOptions& options) {
  if (options.threads < 0 || options.threads > execute::kMaxThreads) {
    return argument_error("threads", options.threads, "0 to " + std::to_string(execute::kMaxThreads));
  }
  if (options.spin_us < 0) return argument_error("spin_us", options.spin_us, "0 or more");
  const int wanted = resolve_threads(options.threads);
  Pool* pool = nullptr;
  try {
    if (wanted > 1) {
      int threads = wanted;
      pool = execute::acquire_pool(&threads);
      if (pool == nullptr || threads < wanted) {
        if (pool != nullptr) execute::release_pool();
        return Status(Code::kResourceExhausted, "pool_executor: threads: " + std::to_string(wanted) +
                                                    " wanted, the system gave " + std::to_string(pool == nullptr ? 1 : threads));
      }
    }
    return std::shared_ptr<Executor>(std::make_shared<PoolExecutor>(wanted, options.spin_us, pool));
  } catch (const std::bad_alloc&) {
    if (pool != nullptr) execute::release_pool();
    return Status(Code::kResourceExhausted, "pool_executor: out of memory");
  }
}

}  // namespace v0
}  // namespace saccade
