#include "tools/machine_report.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "tools/console.h"
#ifdef SACCADE_HAVE_OPENMP
#include "saccade/openmp.h"
#endif

namespace saccade::tool {
namespace {

std::string choose_isa(const std::string& asked, const Machine& machine) {
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const char* forced = std::getenv("SACCADE_FORCE_ISA");
  const std::string name = !asked.empty() ? asked : forced != nullptr ? forced : "";
  const char* source = !asked.empty() ? "--isa" : "SACCADE_FORCE_ISA";
  if (name.empty()) return machine.isa;
  if (!has(machine.isas_built, name)) {
    throw Failure(kFailure, fmt::format("{} {}: not in this build, which has {}", source, printable(name, 40),
                                        fmt::join(machine.isas_built, ", ")));
  }
  if (!has(machine.isas_supported, name)) {
    throw Failure(kFailure,
                  fmt::format("{} {}: this CPU lacks it; it has {}", source, name, fmt::join(machine.isas_supported, ", ")));
  }
  return name;
}

// A variable that was set and did not decide must not pass unseen: the library goes on to the next source without a word.
int threads_of(int asked) {
  const char* const text = std::getenv("SACCADE_NUM_THREADS");
  if (asked == 0 && text != nullptr && *text != '\0' && machine().threads_source != "SACCADE_NUM_THREADS") {
    throw Failure(kFailure, fmt::format("SACCADE_NUM_THREADS {}: should be a number of threads, 1 to {}", printable(text, 40),
                                        kMaxThreads));
  }
  return resolve_threads(asked);
}

}  // namespace

Setup make_setup(const CommonOptions& options) {
  Setup setup;
  setup.isa = choose_isa(options.isa, machine());
  setup.threads = threads_of(options.threads);
#ifdef SACCADE_HAVE_OPENMP
  setup.executor = take(openmp_executor(setup.threads));
#else
  setup.executor = take(pool_executor({.threads = setup.threads}));
#endif
  setup.threads = setup.executor->width();
  return setup;
}

double measure_peak_of(const std::string& isa, int threads, int samples) {
  const Progress progress("measuring the FMA peak");
  std::vector<Result<double>> peaks(static_cast<size_t>(threads), Status(Code::kInternal, "peak was not measured"));
  {
    std::vector<std::jthread> others;
    for (int t = 1; t < threads; ++t) {
      others.emplace_back([&, t] { peaks[static_cast<size_t>(t)] = measure_peak(isa, samples); });
    }
    peaks[0] = measure_peak(isa, samples);
  }
  double sum = 0;
  for (auto& peak : peaks) sum += take(peak);
  return sum;
}

std::string headline(const Setup& setup) {
  return fmt::format("{} · {} · {} thread{} ({})", machine().cpu, setup.isa, setup.threads, setup.threads == 1 ? "" : "s",
                     setup.executor->name());
}

Json machine_json(const Machine& m) {
  return {{"cpu", m.cpu},
          {"isas_built", m.isas_built},
          {"isas_supported", m.isas_supported},
          {"isa", m.isa},
          {"l1d_bytes", m.l1d_bytes},
          {"l2_bytes", m.l2_bytes},
          {"l3_bytes", m.l3_bytes},
          {"logical_cpus", m.logical_cpus},
          {"physical_cores", m.physical_cores},
          {"cpu_quota", m.cpu_quota},
          {"threads", m.threads},
          {"threads_source", m.threads_source},
          {"huge_pages", m.huge_pages}};
}

void print_envelope(const std::string& command, const Json& results) {
  const Json envelope = {
      {"saccade", version()}, {"schema", 1}, {"command", command}, {"machine", machine_json(machine())}, {"results", results}};
  fmt::print("{}\n", envelope.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace saccade::tool
