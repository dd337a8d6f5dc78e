// The worker threads behind pool_executor(): one Pool per process, counted by its owners.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "saccade/executor.h"

namespace saccade::execute {

// Far above the cores of any machine; bounds the table of workers, which readers use without a lock.
inline constexpr int kMaxThreads = 1024;

using Task = void (*)(void* arg, int index, int team);

// Calls task as the only one of its team. False when it let an exception out.
bool run_alone(Task task, void* arg);

// Life of one run: the runner takes the pool, writes the job, raises the ticket of workers 0..team-2, works as index 0, and waits
// until `pending` is zero. Only workers with a raised ticket read the job, so a slow one never sees the next job by mistake.
class Pool {
 public:
  explicit Pool(pid_t process) : process_(process) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();  // no run is active; joins all workers

  // Starts workers until there are `threads` - 1 or the system refuses; returns the threads there are, the caller's included. One
  // caller at a time; runs may go on meanwhile.
  int grow(int threads);

  // Runs task on at most `team` threads; alone when the pool is taken. False when a call let an exception out.
  bool run(int team, int spin_us, Task task, void* arg);

  // The process whose threads the workers are.
  pid_t process() const { return process_; }

 private:
  struct alignas(64) Worker {
    std::atomic<uint32_t> ticket{0};  // raised once for every job of this worker, and to stop
    std::atomic<uint32_t> asleep{0};
    std::thread thread;
  };
  struct Job {
    Task task = nullptr;
    void* arg = nullptr;
    int team = 0;
    int spin_us = 0;
  };

  void work(int index);
  void call(const Job& job, int index);
  static void raise(Worker& worker);

  const pid_t process_;
  std::atomic<bool> taken_{false};
  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  Job job_;
  alignas(64) std::atomic<uint32_t> pending_{0};  // workers still in the job
  std::atomic<uint32_t> runner_asleep_{0};
  alignas(64) std::atomic<int> count_{0};  // workers_[0, count_) exist
  std::array<std::unique_ptr<Worker>, kMaxThreads> workers_;
};

// The pool of this process with at least `threads` threads where the system gives them, and one owner more. A process id that
// has changed since the last call means a forked child: its parent's pool, whose threads do not exist here, is left alone and a
// new one built. Null when there is no memory; *threads becomes the number that exist.
Pool* acquire_pool(int* threads);
// One owner less; the last one joins the workers. Only in the process that acquired.
void release_pool();

}  // namespace saccade::execute
