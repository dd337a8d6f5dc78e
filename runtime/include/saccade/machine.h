// What this machine is and what of it will be used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "saccade/export.h"
#include "saccade/status.h"

namespace saccade {
inline namespace v0 {

struct Machine {
  std::string cpu;                                    // model name
  std::vector<std::string> isas_built;                // compiled into this library
  std::vector<std::string> isas_supported;            // of those, what CPU and system can run
  std::string isa;                                    // chosen; empty when SACCADE_FORCE_ISA cannot be had
  int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // data caches: of a core, of a core, shared
  int logical_cpus = 0;                               // allowed to this process (affinity)
  int physical_cores = 0;                             // distinct cores among them
  double cpu_quota = 0;                               // cgroup v1/v2 limit in CPUs; 0: none
  int threads = 0;                                    // default width of executors
  std::string threads_source;                         // "SACCADE_NUM_THREADS", "OMP_NUM_THREADS", "cores", "cgroup quota"
  std::string huge_pages;                             // "always", "madvise", "never" or "unavailable"
};

SACCADE_EXPORT Machine machine();

// Number of threads for `requested` (0: SACCADE_NUM_THREADS, then OMP_NUM_THREADS, its first entry, then distinct physical cores
// among the allowed CPUs, capped by the quota rounded up). An unusable variable is ignored.
SACCADE_EXPORT int resolve_threads(int requested);

// FMA peak of one thread on that ISA (empty: the chosen one), GFLOP/s: independent chains, the largest of `samples` of 10 ms.
SACCADE_EXPORT Result<double> measure_peak(const std::string& isa = {}, int samples = 20);

struct Bandwidth {
  double read_gbs = 0;  // bytes read, GB/s, one thread, huge pages where they can be had
  double copy_gbs = 0;  // bytes read + written
};
// Streams over `bytes` (default: beyond every cache), the best of `samples`.
SACCADE_EXPORT Result<Bandwidth> measure_bandwidth(int64_t bytes = int64_t{256} << 20, int samples = 5);

}  // namespace v0
}  // namespace saccade
