// dlopen, run, dlclose, again and again: no thread stays, and the library really goes (but for the OpenMP one, which says that it
// stays). This program links none of our libraries itself.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>

#include "tests/runtime/threads.h"

namespace saccade {
namespace {

[[maybe_unused]] bool is_mapped(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) != std::string::npos) return true;
  }
  return false;
}

void load_and_run(const char* path, int calls) {
  void* module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(module, nullptr) << dlerror();
  const auto run = reinterpret_cast<int (*)()>(dlsym(module, "saccade_test_run"));
  ASSERT_NE(run, nullptr) << dlerror();
  EXPECT_EQ(run(), calls);
  EXPECT_EQ(dlclose(module), 0) << dlerror();
}

TEST(Dlopen, LoadsRunsAndUnloads) {
  std::thread([] {}).join();  // a sanitizer starts a thread of its own with the first one of the process
  const int before = test::thread_count();
  for (int repeat = 0; repeat < 30; ++repeat) {
    load_and_run(SACCADE_TEST_MODULE, 12);
    ASSERT_TRUE(test::thread_count_becomes(before));
    // Sanitizers keep every library.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ASSERT_FALSE(is_mapped("libsaccade"));
    ASSERT_FALSE(is_mapped("dlopen_module"));
#endif
  }
}

#ifdef SACCADE_TEST_OPENMP_MODULE
TEST(Dlopen, OpenMpStaysLoadedAndKeepsWorking) {
  for (int repeat = 0; repeat < 10; ++repeat) load_and_run(SACCADE_TEST_OPENMP_MODULE, 12);
  EXPECT_TRUE(is_mapped("libsaccade_openmp"));
}
#endif

}  // namespace
}  // namespace saccade
