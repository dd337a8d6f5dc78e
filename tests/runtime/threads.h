// Executors called with lambdas, and the threads of this process counted.
#pragma once

#include <dirent.h>

#include <chrono>
#include <thread>

#include "saccade/executor.h"

namespace saccade::test {

template <class Function>
Status run_on(Executor& executor, int tasks, Function function) {
  return executor.run(
      tasks, [](void* arg, int index, int team) { (*static_cast<Function*>(arg))(index, team); }, &function);
}

// Threads of this process; 0 where /proc is missing.
inline int thread_count() {
  DIR* folder = opendir("/proc/self/task");
  if (folder == nullptr) return 0;
  int count = 0;
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  return count;
}

// True when there are `count` threads now or soon: a joined thread stays in /proc a moment longer.
inline bool thread_count_becomes(int count) {
  for (int wait = 0; wait < 1000; ++wait) {
    if (thread_count() == count) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace saccade::test
