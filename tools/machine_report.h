// What every subcommand needs from the machine: the ISA, the executor, the peak; and the JSON envelope that names them.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "saccade/saccade.h"
#include "tools/command.h"

namespace saccade::tool {

using Json = nlohmann::ordered_json;

// What one invocation computes with. `executor` is OpenMP where it was built, else the library's pool.
struct Setup {
  std::string isa;
  int threads = 0;
  std::shared_ptr<Executor> executor;
};
Setup make_setup(const CommonOptions& options);

// FMA peak of `threads` threads that run at the same time, GFLOP/s.
double measure_peak_of(const std::string& isa, int threads, int samples = 20);

// "AMD EPYC 7763 · avx2 · 2 threads (openmp)"
std::string headline(const Setup& setup);

// Prints {saccade, schema, command, machine, results}.
void print_envelope(const std::string& command, const Json& results);
Json machine_json(const Machine& machine);

}  // namespace saccade::tool
