// How many threads: the option, SACCADE_NUM_THREADS, OMP_NUM_THREADS, or what affinity, topology and control groups give.
#include <cmath>
#include <cstdlib>
#include <new>

#include "runtime/execute/machine_facts.h"
#include "runtime/execute/pool.h"
#include "saccade/machine.h"

namespace saccade {
namespace execute {
namespace {

// OMP_NUM_THREADS may be a list, one entry per level of nesting.
int first_entry(const char* text) {
  if (text == nullptr) return 0;
  const std::string_view list(text);
  const auto value = parse_integer(list.substr(0, list.find(',')));
  return value && *value >= 1 && *value <= kMaxThreads ? static_cast<int>(*value) : 0;
}

int one_number(const char* text) {
  if (text == nullptr || std::string_view(text).find(',') != std::string_view::npos) return 0;
  return first_entry(text);
}

}  // namespace

ThreadChoice choose_threads(int requested, const char* saccade_num_threads, const char* omp_num_threads, int cores,
                            double quota) {
  if (requested > 0) return {requested, "option"};
  if (const int n = one_number(saccade_num_threads); n > 0) return {n, "SACCADE_NUM_THREADS"};
  if (const int n = first_entry(omp_num_threads); n > 0) return {n, "OMP_NUM_THREADS"};
  if (cores < 1) cores = 1;
  if (cores > kMaxThreads) cores = kMaxThreads;
  // A part of a CPU is still worth a thread.
  if (quota > 0 && std::ceil(quota) < cores) return {static_cast<int>(std::ceil(quota)), "cgroup quota"};
  return {cores, "cores"};
}

}  // namespace execute

inline namespace v0 {

int resolve_threads(int requested) {
  using namespace execute;
  const char* ours = std::getenv("SACCADE_NUM_THREADS");
  const char* omp = std::getenv("OMP_NUM_THREADS");
  // Files are read only when no number was given.
  const ThreadChoice given = choose_threads(requested, ours, omp, 0, 0);
  if (given.source != std::string_view("cores")) return given.threads;
  try {
    return choose_threads(0, nullptr, nullptr, count_cores("", allowed_cpus()), cgroup_quota("")).threads;
  } catch (const std::exception&) {  // no memory for a few file names
    return 1;
  }
}

}  // namespace v0
}  // namespace saccade
