#include "runtime/execute/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <new>
#include <system_error>

#include "runtime/execute/futex.h"

namespace saccade::execute {
namespace {

// Workers take no signals of the embedding program, except those that a thread raises by its own doing and the profiler's clock.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t mask;
    sigfillset(&mask);
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) sigdelset(&mask, signal);
    pthread_sigmask(SIG_SETMASK, &mask, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// The pool of this process. Constant-initialised and never destroyed, so loading and unloading run no code.
struct Shared {
  std::atomic<pid_t> lock{0};  // process id of the holder, 0 when free
  pid_t process = 0;           // whose pool this is
  Pool* pool = nullptr;
  int owners = 0;
};
constinit Shared shared;

// A lock that a fork cannot leave locked: one that another process holds was copied with the child's memory, so nobody here will
// release it. What it guards is then reset by the process id too. Held while threads start or stop, hence the yield.
class SharedLock {
 public:
  explicit SharedLock(pid_t self) {
    for (;;) {
      pid_t holder = shared.lock.load(std::memory_order_relaxed);
      if (holder != self && shared.lock.compare_exchange_weak(holder, self, std::memory_order_acquire, std::memory_order_relaxed))
        break;
      sched_yield();
    }
    if (shared.process != self) {
      shared.process = self;
      shared.pool = nullptr;
      shared.owners = 0;
    }
  }
  ~SharedLock() { shared.lock.store(0, std::memory_order_release); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;
};

}  // namespace

bool run_alone(Task task, void* arg) {
  try {
    task(arg, 0, 1);
  } catch (...) {
    return false;
  }
  return true;
}

Pool::~Pool() {
  stop_.store(true, std::memory_order_relaxed);  // seen by whoever sees the raised ticket
  const int count = count_.load(std::memory_order_relaxed);
  for (int i = 0; i < count; ++i) raise(*workers_[static_cast<size_t>(i)]);
  for (int i = 0; i < count; ++i) workers_[static_cast<size_t>(i)]->thread.join();
}

int Pool::grow(int threads) {
  SignalsBlocked blocked;
  for (int i = count_.load(std::memory_order_relaxed); i + 1 < threads && i < kMaxThreads; ++i) {
    try {
      auto worker = std::make_unique<Worker>();
      Worker& w = *worker;
      workers_[static_cast<size_t>(i)] = std::move(worker);
      w.thread = std::thread([this, i] { work(i); });
      pthread_setname_np(w.thread.native_handle(), "saccade-pool");
    } catch (const std::exception&) {  // no thread or no memory
      workers_[static_cast<size_t>(i)].reset();
      break;
    }
    count_.store(i + 1, std::memory_order_release);
  }
  return count_.load(std::memory_order_relaxed) + 1;
}

// The stores and loads of ticket and asleep are sequentially consistent: either the raiser sees the sleeper or the sleeper sees
// the ticket. The same pair is used for pending_ and runner_asleep_.
void Pool::raise(Worker& worker) {
  worker.ticket.fetch_add(1);
  if (worker.asleep.load() != 0) futex_wake_all(worker.ticket);
}

void Pool::call(const Job& job, int index) {
  try {
    job.task(job.arg, index, job.team);
  } catch (...) {
    failed_.store(true, std::memory_order_relaxed);
  }
}

void Pool::work(int index) {
  Worker& self = *workers_[static_cast<size_t>(index)];
  uint32_t seen = 0;
  int spin_us = 0;
  for (;;) {
    const auto raised = [&] { return self.ticket.load(std::memory_order_acquire) != seen; };
    if (!spin_until(spin_us, raised)) {
      self.asleep.store(1);
      while (self.ticket.load() == seen) futex_wait(self.ticket, seen);
      self.asleep.store(0, std::memory_order_relaxed);
    }
    ++seen;
    if (stop_.load(std::memory_order_relaxed)) return;
    const Job job = job_;
    spin_us = job.spin_us;
    call(job, index + 1);
    if (pending_.fetch_sub(1) == 1 && runner_asleep_.load() != 0) futex_wake_all(pending_);
  }
}

bool Pool::run(int team, int spin_us, Task task, void* arg) {
  const int most = count_.load(std::memory_order_acquire) + 1;
  if (team > most) team = most;
  // The flag is read first: callers that find the pool taken should not fight for its cache line.
  if (team <= 1 || taken_.load(std::memory_order_relaxed) || taken_.exchange(true, std::memory_order_acquire)) {
    return run_alone(task, arg);
  }
  job_ = {task, arg, team, spin_us};
  failed_.store(false, std::memory_order_relaxed);
  pending_.store(static_cast<uint32_t>(team - 1), std::memory_order_relaxed);
  for (int i = 0; i + 1 < team; ++i) raise(*workers_[static_cast<size_t>(i)]);
  call(job_, 0);
  if (!spin_until(spin_us, [&] { return pending_.load(std::memory_order_acquire) == 0; })) {
    runner_asleep_.store(1);
    for (uint32_t left = pending_.load(); left != 0; left = pending_.load()) futex_wait(pending_, left);
    runner_asleep_.store(0, std::memory_order_relaxed);
  }
  const bool ok = !failed_.load(std::memory_order_relaxed);
  taken_.store(false, std::memory_order_release);
  return ok;
}

Pool* acquire_pool(int* threads) {
  const pid_t self = getpid();
  SharedLock lock(self);
  if (shared.pool == nullptr) shared.pool = new (std::nothrow) Pool(self);
  if (shared.pool == nullptr) return nullptr;
  const int there = shared.pool->grow(*threads);
  if (there < *threads) *threads = there;
  ++shared.owners;
  return shared.pool;
}

void release_pool() {
  SharedLock lock(getpid());
  if (--shared.owners > 0) return;
  delete shared.pool;
  shared.pool = nullptr;
}

}  // namespace saccade::execute
