// saccade demo: a worked example that is checked, why scores are scaled, and an encoder that is checked and timed.
#include "tools/demo.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "tools/console.h"

namespace saccade::tool {
namespace {

constexpr double kExampleTolerance = 1e-6;

Json count_json(const Count& count) { return {{"printed", count.printed}, {"reproduced", count.reproduced}}; }

Json example_json(const ExampleRun& run, const Reproduction& reproduction) {
  Json json = count_json(reproduction.all);
  json["max_error"] = run.max_error;
  for (const auto& [group, count] : reproduction.groups) json[group] = count_json(count);
  return json;
}

Json scaling_json(const std::vector<ScalingRow>& rows) {
  Json json = Json::array();
  for (const ScalingRow& row : rows) {
    json.push_back(
        {{"d", row.d}, {"std", row.std}, {"std_theory", row.std_theory}, {"unscaled", row.unscaled}, {"scaled", row.scaled}});
  }
  return json;
}

Json encoder_json(const EncoderRun& run) {
  return {{"tokens", run.tokens},
          {"padded_tokens", run.padded_tokens},
          {"max_error", run.max_error},
          {"seconds", run.seconds},
          {"useful_tokens_per_second", static_cast<double>(run.tokens) / run.seconds},
          {"gflops", run.gflops},
          {"padded_seconds", run.padded_seconds}};
}

// Fills `results` part by part, so that an interrupted run still has what was done.
Exit run_parts(const DemoOptions& options, const Setup& setup, Json& results) {
  const Example example = load_example(options.example);
  const bool text = !options.json;
  Exit exit = kDone;
  const auto failed = [&](const std::string& what) {
    fmt::print(stderr, "saccade: check failed: {}\n", what);
    exit = kCheckFailed;
  };

  ExampleRun run = run_example(example, setup);
  const std::vector<ScalingRow> scaling = run_scaling(setup);
  Tensors tensors = run.tensors;
  tensors.merge(scaling_tensors(scaling));
  const Reproduction reproduction = reproduce(example, tensors);
  results["seed_example"] = example_json(run, reproduction);
  results["scaling"] = scaling_json(scaling);
  if (text) {
    fmt::print("Saccade {} · {}\n", version(), headline(setup));
    print_example(example, run, reproduction);
    print_scaling(example, scaling);
    std::fflush(stdout);
  }
  for (const std::string& line : reproduction.missed) failed(line);
  if (!(run.max_error <= kExampleTolerance)) {
    failed(
        fmt::format("largest difference from the expected values is {:.3g}, allowed {:.0e}", run.max_error, kExampleTolerance));
  }
  if (!(run.graph_error <= kExampleTolerance)) {
    failed(fmt::format("the graph's live rows differ from attention() by {:.3g}, allowed {:.0e}", run.graph_error,
                       kExampleTolerance));
  }

  results["peak_gflops"] = measure_peak_of(setup.isa, setup.threads, options.quick ? 5 : 20);
  throw_if_interrupted();
  const EncoderRun encoder = run_encoder(setup, options.quick);
  results["encoder"] = encoder_json(encoder);
  if (text) print_encoder(encoder, results["peak_gflops"], setup);
  if (!(encoder.max_error <= kEncoderTolerance)) {
    failed(fmt::format("the encoder differs from the double reference by {:.3g}, allowed {:.0e}", encoder.max_error,
                       kEncoderTolerance));
  }
  return exit;
}

}  // namespace

int run_demo(const DemoOptions& options) {
  const Setup setup = make_setup(options);
  Json results = {{"isa", setup.isa}, {"threads", setup.threads}};
  Exit exit = kDone;
  try {
    exit = run_parts(options, setup, results);
  } catch (const Interrupted&) {
    exit = interrupted();
  }
  if (options.json) print_envelope("demo", results);
  return exit;
}

}  // namespace saccade::tool
