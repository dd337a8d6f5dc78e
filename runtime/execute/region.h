// Runs the phases of a run on an executor. With a concurrent one, all workers stay together for the whole run and wait for each
// other between phases; else each phase is one call of the executor. Workers pull tiles from one counter for each phase.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "runtime/execute/run_state.h"
#include "saccade/executor.h"
#include "saccade/trace.h"

namespace saccade {
inline namespace v0 {

// All `team` threads leave wait() when the last of them has come. May be used again at once. A thread waits awake for a while,
// but not on the CPU of a member that has not come yet.
class Barrier {
 public:
  void reserve(int members) { members_ = std::vector<Member>(static_cast<size_t>(members)); }
  // Both by the member `index`, 0 .. team - 1; of others (an executor's mistake) only the arrival counts.
  void enter(int index);  // before its first wait() of a run
  void wait(int index, int team);

 private:
  struct alignas(64) Member {
    std::atomic<int> cpu{-1};             // the last one it was seen on; negative: not known
    std::atomic<uint32_t> arrived_at{0};  // the generation that its last arrival led to
  };
  Member* member(int index);
  bool one_belongs_on(int cpu, uint32_t generation, int team) const;

  std::vector<Member> members_;
  alignas(64) std::atomic<uint32_t> arrived_{0};
  alignas(64) std::atomic<uint32_t> generation_{0};
  std::atomic<uint32_t> asleep_{0};
};

class Region {
 public:
  // Room for so many phases and threads.
  void reserve(size_t phases, int threads) {
    counters_ = std::vector<Counter>(phases);
    barrier_.reserve(threads);
  }
  // Returns when all phases are done, or when it was stopped (kCancelled) or a backend failed. `threads` scratch areas exist.
  Status run(RunState& run, Executor& executor, int threads);

 private:
  struct alignas(64) Counter {
    std::atomic<int64_t> next{0};
  };
  static void all_phases(void* arg, int index, int team);
  static void one_phase(void* arg, int index, int team);
  int64_t pull_tiles(size_t phase, int worker);  // returns how many it ran
  void check_index(int index);                   // ends the run if no scratch area belongs to it
  bool ended() const { return ended_.load(std::memory_order_relaxed); }
  void fail(Status status);
  void trace(size_t phase, int worker, int64_t begin, int64_t tiles) const;

  RunState* run_ = nullptr;
  int workers_ = 1;
  std::vector<Counter> counters_;  // one for each phase
  size_t phase_ = 0;               // of one_phase
  Barrier barrier_;
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  Status status_;
};

}  // namespace v0
}  // namespace saccade
