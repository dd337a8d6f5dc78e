// saccade info: what this machine is and what of it will be used.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "tools/console.h"
#include "tools/machine_report.h"
#ifdef SACCADE_HAVE_ONEDNN
#include "saccade/onednn.h"
#endif

namespace saccade::tool {
namespace {

const char* onednn_or_null() {
#ifdef SACCADE_HAVE_ONEDNN
  return onednn_version();
#else
  return nullptr;
#endif
}

std::string quota_text(double quota) { return quota > 0 ? fmt::format("{:.3g} CPUs", quota) : "none"; }

}  // namespace

int run_info(const InfoOptions& options) {
  const Setup setup = make_setup(options);
  const Machine m = machine();
  std::optional<double> peak_one, peak_all;
  std::optional<Bandwidth> bandwidth;
  int exit = kDone;
  try {
    peak_one = measure_peak_of(setup.isa, 1);
    throw_if_interrupted();
    peak_all = setup.threads == 1 ? *peak_one : measure_peak_of(setup.isa, setup.threads);
    throw_if_interrupted();
    const Progress progress("measuring bandwidth");
    bandwidth = take(measure_bandwidth());
  } catch (const Interrupted&) {
    exit = interrupted();
  }

  if (options.json) {
    Json results = machine_json(m);
    results["isa"] = setup.isa;
    results["threads"] = setup.threads;
    if (options.threads > 0) results["threads_source"] = "--threads";
    results["executor"] = setup.executor->name();
    results["onednn"] = onednn_or_null() == nullptr ? Json() : Json(onednn_or_null());
    if (peak_one) results["peak_gflops"] = *peak_one;
    if (peak_all) results["peak_gflops_all_threads"] = *peak_all;
    if (bandwidth) {
      results["read_gbs"] = bandwidth->read_gbs;
      results["copy_gbs"] = bandwidth->copy_gbs;
    }
    print_envelope("info", results);
    return exit;
  }

  const auto line = [](const char* key, const std::string& value) { fmt::print("{:<14}{}\n", key, value); };
  line("saccade", version());
  line("cpu", m.cpu);
  line("isas", fmt::format("{} chosen; built {}; supported {}", setup.isa, fmt::join(m.isas_built, " "),
                           fmt::join(m.isas_supported, " ")));
  line("caches",
       fmt::format("L1d {}, L2 {} a core; L3 {}", bytes_text(m.l1d_bytes), bytes_text(m.l2_bytes), bytes_text(m.l3_bytes)));
  line("cpus", fmt::format("{} allowed, on {} cores; quota {}", m.logical_cpus, m.physical_cores, quota_text(m.cpu_quota)));
  line("threads", fmt::format("{} (from {})", setup.threads, options.threads > 0 ? "--threads" : m.threads_source));
  line("executor", setup.executor->name());
  line("oneDNN", onednn_or_null() == nullptr ? "not built" : onednn_or_null());
  line("huge pages", m.huge_pages);
  if (peak_one && peak_all) {
    line("FMA peak", fmt::format("{} GFLOP/s on one thread, {} on {} (f32, {})", significant(*peak_one), significant(*peak_all),
                                 setup.threads, setup.isa));
  }
  if (bandwidth) {
    line("bandwidth", fmt::format("read {} GB/s, copy {} GB/s (one thread)", significant(bandwidth->read_gbs),
                                  significant(bandwidth->copy_gbs)));
  }
  return exit;
}

}  // namespace saccade::tool
