// Where the facts of machine() come from. Each reads files below `root` ("" for the real system), so tests can bring their own
// tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace saccade::execute {

// Contents of a small file of the kernel's, without the newline at its end; nothing when it cannot be read.
std::optional<std::string> read_file(const std::string& path);
// A whole decimal number, spaces around it allowed; nothing for anything else, overflow included.
std::optional<int64_t> parse_integer(std::string_view text);

// machine_cpu.cc
std::string cpu_model(const std::string& root);                          // /proc/cpuinfo
std::vector<int> allowed_cpus();                                         // affinity of this thread
int count_cores(const std::string& root, const std::vector<int>& cpus);  // distinct physical cores
std::string huge_page_mode(const std::string& root);                     // "always", "madvise", "never", "unavailable"

// machine_cgroup.cc: CPUs that the control groups of this process allow, the smallest limit on the way from its group to the root
// of the hierarchy; 0 without one.
double cgroup_quota(const std::string& root);

// machine_cache.cc
struct Caches {
  int64_t l1d = 0, l2 = 0, l3 = 0;  // bytes; 0: none or unknown
};
Caches sysfs_caches(const std::string& root, int cpu);
Caches cpuid_caches();                      // x86; nothing elsewhere
int64_t parse_size(std::string_view text);  // "512K", "32M", "1024"; 0 for anything else

// threads.cc
struct ThreadChoice {
  int threads = 1;
  const char* source = "";  // "option", "SACCADE_NUM_THREADS", "OMP_NUM_THREADS", "cores", "cgroup quota"
};
// The rule of resolve_threads() on given facts. Variables may be null; those that hold no number from 1 to kMaxThreads are
// ignored.
ThreadChoice choose_threads(int requested, const char* saccade_num_threads, const char* omp_num_threads, int cores, double quota);

}  // namespace saccade::execute
