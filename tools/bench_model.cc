// saccade bench encoder --model: a published model on generated ids, as `bench encoder` times a shape.
#include <fmt/core.h>
#include <algorithm>
#include <numeric>
#include <random>

#include "tools/bench_model.h"
#include "tools/console.h"
#include "tools/model.h"
#include "tools/timing.h"

namespace saccade::tool {

int run_bench_model(const BenchEncoderOptions& options, const Setup& setup, std::vector<int64_t> lengths) {
  ModelOptions model;
  static_cast<CommonOptions&>(model) = options;
  model.model = options.model;
  const double peak = measure_peak_of(setup.isa, setup.threads);
  const Encoder encoder = load_encoder(model, setup);
  const EncoderInfo& info = encoder.info();
  const Plan plan = take(encoder.plan());
  if (lengths.empty()) lengths = generate_lengths(32, std::min<int64_t>(128, info.max_tokens));

  const int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t{0}), sequences = std::ssize(lengths);
  std::mt19937 engine(1);
  std::vector<int32_t> ids(static_cast<size_t>(tokens));
  for (int32_t& id : ids) id = static_cast<int32_t>(engine() % static_cast<uint32_t>(info.vocabulary));
  const std::vector<int32_t> type_ids(ids.size());
  const Input inputs[] = {{"ids", packed(ConstMatrix(ids.data(), tokens))},
                          {"type_ids", packed(ConstMatrix(type_ids.data(), tokens))}};
  const bool of_tokens = info.head == Head::kTokenClassification;
  const int64_t rows = of_tokens ? tokens : sequences;
  const bool scores = of_tokens || info.head == Head::kSequenceClassification;
  const int64_t width = scores ? std::ssize(info.labels) : info.output_width;
  std::vector<float> result(static_cast<size_t>(rows * width));
  const Output outputs[] = {{info.output, packed(Matrix(result.data(), rows, width))}};

  Context context = take(Context::create(plan, {.threads = setup.threads, .executor = setup.executor}));
  Batch batch;
  batch.assign_lengths(lengths);
  const Timing timing = time_repeats(options.repeat, "encoding", [&] {
    check(context.run(batch, std::span(inputs, info.type_ids ? 2 : 1), outputs, {.stop = &stop_flag()}));
  });

  BenchReport report{.command = "bench encoder", .title = {}, .setup = setup, .timing = timing, .peak_before = peak};
  for (const int64_t length : lengths) report.flops += plan.flops(length, 1);
  report.title = fmt::format("{} ({}): {} layers, {} wide; {} sequences, {} tokens; ids to {}, no tokenizing",
                             printable(options.model), info.family, info.layers, info.width, sequences,
                             thousands(static_cast<double>(tokens)), scores ? "scores" : "vectors");
  add_rates(report, tokens, sequences, context.arena_bytes(), info.weight_bytes);
  return print_bench(report, options.json);
}

}  // namespace saccade::tool
