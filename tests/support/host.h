// Executors of an embedding program, in the orders that it may choose.
#pragma once

#include <thread>
#include <vector>

#include "saccade/saccade.h"

namespace saccade::test {

struct HostThreads {
  int width;
};

using HostRun = void (*)(void* self, int tasks, void (*task)(void* arg, int index), void* arg);

// The widths live as long as the process: executors keep a pointer to theirs.
inline std::shared_ptr<Executor> host(int width, HostRun run) {
  static std::vector<std::unique_ptr<HostThreads>> kept;
  kept.push_back(std::make_unique<HostThreads>(HostThreads{width}));
  auto executor = host_executor(
      {.self = kept.back().get(), .width = [](void* self) { return static_cast<HostThreads*>(self)->width; }, .run = run});
  return executor.ok() ? *executor : nullptr;
}
inline std::shared_ptr<Executor> serial_host(int width) {
  return host(width, [](void*, int tasks, void (*task)(void*, int), void* arg) {
    for (int i = 0; i < tasks; ++i) task(arg, i);
  });
}
inline std::shared_ptr<Executor> reverse_host(int width) {
  return host(width, [](void*, int tasks, void (*task)(void*, int), void* arg) {
    for (int i = tasks; i-- > 0;) task(arg, i);
  });
}
inline std::shared_ptr<Executor> threads_host(int width) {
  return host(width, [](void*, int tasks, void (*task)(void*, int), void* arg) {
    std::vector<std::thread> threads;
    for (int i = 0; i < tasks; ++i) threads.emplace_back(task, arg, i);
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace saccade::test
