// Where the work of a run happens. Three kinds: the library's own pool (the default), OpenMP (saccade/openmp.h, in its own
// library) and the threads of the embedding program.
#pragma once

#include <memory>

#include "saccade/export.h"
#include "saccade/status.h"

namespace saccade {
inline namespace v0 {

class SACCADE_EXPORT Executor {
 public:
  virtual ~Executor() = default;

  virtual const char* name() const = 0;
  // The most calls that can be live at once.
  virtual int width() const = 0;
  // True when all calls of one run() are live at the same time, so that they may wait for each other at a barrier.
  virtual bool concurrent() const = 0;
  // Calls task(arg, index, team) for every index in [0, team), team <= tasks chosen by the executor, and returns when all are
  // done. No index is live twice. Without concurrent() calls may come one after the other, and team is tasks. Errors of the
  // executor come back as a Status, after which no call is live.
  virtual Status run(int tasks, void (*task)(void* arg, int index, int team), void* arg) = 0;
};

// The library's own pool: one per process, shared by all contexts, its workers joined with the last owner. `threads` is the
// number of calls live at once, the caller's thread included (0: see machine.h). A run that finds the pool taken runs on its
// caller's thread (team 1), so N calling threads never make more than width - 1 workers. Workers spin at most spin_us
// microseconds for the next piece of work, then sleep. In a forked child a new pool is built.
struct PoolOptions {
  int threads = 0;
  int spin_us = 50;
};
SACCADE_EXPORT Result<std::shared_ptr<Executor>> pool_executor(const PoolOptions& options = {});

// The embedding program's threads: run(self, tasks, task, arg) calls task(arg, i) once for every i in [0, tasks), in any order,
// on any threads, and returns when all are done. No concurrency is assumed; calls back into Context::run are legal.
struct HostExecutor {
  void* self = nullptr;
  int (*width)(void* self) = nullptr;
  void (*run)(void* self, int tasks, void (*task)(void* arg, int index), void* arg) = nullptr;
};
SACCADE_EXPORT Result<std::shared_ptr<Executor>> host_executor(const HostExecutor& host);

}  // namespace v0
}  // namespace saccade
