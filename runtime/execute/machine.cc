#include "saccade/machine.h"

#include <cstdlib>
#include <exception>

#include "kernels/isa.h"
#include "runtime/execute/machine_facts.h"

namespace saccade {
inline namespace v0 {
namespace {

std::vector<std::string> names(kernels::IsaSet set) {
  std::vector<std::string> result;
  for (kernels::Isa isa : kernels::kAllIsas) {
    if ((set & kernels::bit(isa)) != 0) result.emplace_back(kernels::name(isa));
  }
  return result;
}

void look(Machine& machine) {
  using namespace execute;
  const kernels::IsaSet built = kernels::built_isas(), supported = kernels::supported_isas();
  machine.isas_built = names(built);
  machine.isas_supported = names(built & supported);
  const char* forced = std::getenv("SACCADE_FORCE_ISA");
  kernels::Isa isa;
  if (kernels::select(built, supported, forced == nullptr ? "" : forced, isa) == kernels::Choice::kOk)
    machine.isa = kernels::name(isa);

  machine.cpu = cpu_model("");
  machine.huge_pages = huge_page_mode("");
  const std::vector<int> cpus = allowed_cpus();
  machine.logical_cpus = static_cast<int>(cpus.size());
  machine.physical_cores = count_cores("", cpus);
  machine.cpu_quota = cgroup_quota("");
  const ThreadChoice choice = choose_threads(0, std::getenv("SACCADE_NUM_THREADS"), std::getenv("OMP_NUM_THREADS"),
                                             machine.physical_cores, machine.cpu_quota);
  machine.threads = choice.threads;
  machine.threads_source = choice.source;

  Caches caches = sysfs_caches("", cpus.front());
  if (caches.l1d == 0) caches = cpuid_caches();  // a container or sandbox without /sys
  machine.l1d_bytes = caches.l1d;
  machine.l2_bytes = caches.l2;
  machine.l3_bytes = caches.l3;
}

}  // namespace

Machine machine() {
  Machine machine;
  machine.threads = 1;
  try {
    look(machine);
  } catch (const std::exception&) {  // no memory: what was found so far
  }
  return machine;
}

}  // namespace v0
}  // namespace saccade
