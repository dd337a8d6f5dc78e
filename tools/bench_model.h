// The part of `saccade bench encoder` that times a published model.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/command.h"
#include "tools/machine_report.h"

namespace saccade::tool {

// Empty lengths: 32 of up to 128 tokens.
int run_bench_model(const BenchEncoderOptions& options, const Setup& setup, std::vector<int64_t> lengths);

}  // namespace saccade::tool
