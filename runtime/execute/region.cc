#include "runtime/execute/region.h"

#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <iterator>

#include "runtime/execute/float_state.h"
#include "runtime/execute/futex.h"
#include "runtime/execute/steps.h"
#include "runtime/graph/check.h"

namespace saccade {
inline namespace v0 {
namespace {

// Awake at a barrier for about the time of the longest tile; then the thread sleeps, so that an oversubscribed machine still goes
// on. Where another member needs the CPU it sleeps after a moment: bench/RESULTS.md, "asleep at once".
constexpr int kBarrierSpinUs = 100, kMomentUs = 2;

// Of the calling thread; negative where that is not known.
int current_cpu() {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}

}  // namespace

Barrier::Member* Barrier::member(int index) {
  return index >= 0 && index < std::ssize(members_) ? &members_[static_cast<size_t>(index)] : nullptr;
}

void Barrier::enter(int index) {
  if (Member* self = member(index)) self->cpu.store(current_cpu(), std::memory_order_relaxed);
}

// Whether a member that has not come yet was last seen on this CPU.
bool Barrier::one_belongs_on(int cpu, uint32_t generation, int team) const {
  for (int i = 0; cpu >= 0 && i < std::min(team, static_cast<int>(members_.size())); ++i) {
    const Member& other = members_[static_cast<size_t>(i)];
    if (other.cpu.load(std::memory_order_relaxed) != cpu) continue;
    if (other.arrived_at.load(std::memory_order_relaxed) != generation + 1) return true;
  }
  return false;
}

void Barrier::wait(int index, int team) {
  const uint32_t generation = generation_.load(std::memory_order_relaxed);
  const int cpu = current_cpu();
  if (Member* self = member(index)) {
    self->cpu.store(cpu, std::memory_order_relaxed);
    self->arrived_at.store(generation + 1, std::memory_order_relaxed);
  }
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<uint32_t>(team)) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.store(generation + 1);
    if (asleep_.load() > 0) execute::futex_wake_all(generation_);
    return;
  }
  const auto passed = [&] { return generation_.load(std::memory_order_acquire) != generation; };
  if (execute::spin_until(kMomentUs, passed)) return;
  if (!one_belongs_on(cpu, generation, team) && execute::spin_until(kBarrierSpinUs, passed)) return;
  asleep_.fetch_add(1);  // before the word is looked at again: either this thread sees it change, or the last one sees a sleeper
  while (!passed()) execute::futex_wait(generation_, generation);
  asleep_.fetch_sub(1);
  enter(index);  // the scheduler may have moved it
}

Status Region::run(RunState& run, Executor& executor, int threads) {
  run_ = &run;
  status_ = {};
  ended_.store(false, std::memory_order_relaxed);
  const size_t phases = run.phases.size();
  int64_t most_tiles = 0;
  for (size_t i = 0; i < phases; ++i) {
    counters_[i].next.store(0, std::memory_order_relaxed);
    most_tiles = std::max(most_tiles, run.phases[i].tiles);
  }
  const int workers = static_cast<int>(std::min<int64_t>(threads, most_tiles));
  workers_ = std::max(1, workers);
  Status status;
  if (workers <= 1) {
    all_phases(this, 0, 1);
  } else if (executor.concurrent()) {
    status = executor.run(workers, all_phases, this);
  } else {
    for (phase_ = 0; phase_ < phases && !ended() && status.ok(); ++phase_) {
      const int tasks = static_cast<int>(std::min<int64_t>(workers, run.phases[phase_].tiles));
      status = executor.run(tasks, one_phase, this);
    }
  }
  if (!status.ok()) return status;
  for (size_t i = 0; i < phases && status_.ok(); ++i) {
    if (counters_[i].next.load(std::memory_order_relaxed) < run.phases[i].tiles) {
      return Status(Code::kInternal, text("run: executor ", executor.name(), " returned before its tasks were done"));
    }
  }
  return status_;
}

void Region::all_phases(void* arg, int index, int team) {
  Region& region = *static_cast<Region*>(arg);
  region.check_index(index);
  const FloatState float_state;
  const std::vector<Phase>& phases = region.run_->phases;
  int64_t begin = 0, tiles = 0;  // of the step at hand, which may have two phases
  region.barrier_.enter(index);
  for (size_t i = 0; i < phases.size(); ++i) {
    if (i == 0 || phases[i].step != phases[i - 1].step) begin = trace_time(*region.run_), tiles = 0;
    tiles += region.pull_tiles(i, index);
    if (i + 1 == phases.size() || phases[i].step != phases[i + 1].step) region.trace(i, index, begin, tiles);
    if (team > 1) region.barrier_.wait(index, team);
  }
}

void Region::one_phase(void* arg, int index, int) {
  Region& region = *static_cast<Region*>(arg);
  region.check_index(index);
  const FloatState float_state;
  const int64_t begin = trace_time(*region.run_);
  const int64_t tiles = region.pull_tiles(region.phase_, index);
  region.trace(region.phase_, index, begin, tiles);
}

int64_t Region::pull_tiles(size_t phase, int worker) {
  const Phase& what = run_->phases[phase];
  int64_t done = 0;
  while (true) {
    const int64_t tile = counters_[phase].next.fetch_add(1, std::memory_order_relaxed);
    if (tile >= what.tiles || ended()) return done;
    Status status;
    const Status thrown = caught([&] {  // by a linear backend or a trace of the caller's: the others would wait for this worker
      status = run_->stopped() ? Status(Code::kCancelled, "stopped") : run_tile(*run_, what, tile, worker);
    });
    if (!thrown.ok()) status = thrown;
    if (!status.ok()) {
      fail(std::move(status));
      return done;
    }
    ++done;
  }
}

void Region::check_index(int index) {
  if (index >= 0 && index < workers_) return;
  fail({Code::kInternal, text("run: the executor called a task as worker ", index, " of ", workers_)});
}

void Region::fail(Status status) {
  const std::lock_guard lock(mutex_);
  if (status_.ok()) status_ = std::move(status);
  ended_.store(true, std::memory_order_relaxed);
}

// A chain's steps tell the trace themselves.
void Region::trace(size_t phase, int worker, int64_t begin, int64_t tiles) const {
  if (run_->phases[phase].chain == kNone) trace_step(*run_, run_->phases[phase].step, worker, begin, tiles);
}

}  // namespace v0
}  // namespace saccade
