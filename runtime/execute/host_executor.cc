// host_executor(): the embedding program's threads behind its C struct.
#include <atomic>
#include <memory>
#include <new>
#include <string>

#include "saccade/executor.h"

namespace saccade {
inline namespace v0 {
namespace {

// One run on its way through the C callback, with a watch on what the host does: a task run twice or not at all would give wrong
// numbers silently.
struct Call {
  void (*task)(void* arg, int index, int team);
  void* arg;
  int tasks;
  std::atomic<int> done{0};
  std::atomic<bool> threw{false};
  std::atomic<bool> stray{false};  // an index outside [0, tasks)

  static void invoke(void* self, int index) {
    Call& call = *static_cast<Call*>(self);
    if (index < 0 || index >= call.tasks) {
      call.stray.store(true, std::memory_order_relaxed);
      return;
    }
    try {  // no exception may pass the host's C frames
      call.task(call.arg, index, call.tasks);
    } catch (...) {
      call.threw.store(true, std::memory_order_relaxed);
    }
    call.done.fetch_add(1, std::memory_order_acq_rel);
  }
};

class HostThreads final : public Executor {
 public:
  explicit HostThreads(const HostExecutor& host) : host_(host) {}

  const char* name() const override { return "host"; }
  int width() const override {
    const int width = host_.width(host_.self);
    return width < 1 ? 1 : width;
  }
  bool concurrent() const override { return false; }

  Status run(int tasks, void (*task)(void* arg, int index, int team), void* arg) override {
    if (task == nullptr) return Status(Code::kInvalidArgument, "host: task: expected a function, got null");
    if (tasks <= 0) return {};
    Call call{.task = task, .arg = arg, .tasks = tasks};
    try {
      host_.run(host_.self, tasks, &Call::invoke, &call);
    } catch (...) {
      return Status(Code::kInternal, "host: run let an exception out");
    }
    if (call.threw.load(std::memory_order_relaxed)) return Status(Code::kInternal, "host: a task let an exception out");
    const int done = call.done.load(std::memory_order_acquire);
    if (done != tasks || call.stray.load(std::memory_order_relaxed)) {
      return Status(Code::kInvalidArgument, "host: run: expected each index in [0, " + std::to_string(tasks) + ") once, got " +
                                                std::to_string(done) + " calls" + (call.stray ? " and an index outside" : ""));
    }
    return {};
  }

 private:
  HostExecutor host_;
};

}  // namespace

Result<std::shared_ptr<Executor>> host_executor(const HostExecutor& host) {
  if (host.width == nullptr) return Status(Code::kInvalidArgument, "host_executor: width: expected a function, got null");
  if (host.run == nullptr) return Status(Code::kInvalidArgument, "host_executor: run: expected a function, got null");
  try {
    const int width = host.width(host.self);
    if (width < 1) {
      return Status(Code::kInvalidArgument, "host_executor: width: expected at least 1, got " + std::to_string(width));
    }
    return std::shared_ptr<Executor>(std::make_shared<HostThreads>(host));
  } catch (const std::bad_alloc&) {
    return Status(Code::kResourceExhausted, "host_executor: out of memory");
  } catch (...) {
    return Status(Code::kInvalidArgument, "host_executor: width let an exception out");
  }
}

}  // namespace v0
}  // namespace saccade
