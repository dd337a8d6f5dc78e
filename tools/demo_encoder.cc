// Part 3: a MiniLM-shaped encoder on a ragged batch, checked against double loops, then timed as it is and padded.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "tools/console.h"
#include "tools/demo.h"

namespace saccade::tool {
namespace {

struct Sizes {
  int64_t layers, sequences, longest;
  int repeats;
};
constexpr Sizes kFull = {.layers = 6, .sequences = 32, .longest = 128, .repeats = 5};
constexpr Sizes kQuick = {.layers = 2, .sequences = 4, .longest = 32, .repeats = 1};

// A batch with its ids and the places of its results.
struct Work {
  Batch batch;
  std::vector<int64_t> lengths;
  std::vector<int32_t> ids;
  std::vector<float> hidden, vectors;

  Work(std::vector<int64_t> sequence_lengths, std::vector<int32_t> sequence_ids, int64_t width)
      : lengths(std::move(sequence_lengths)), ids(std::move(sequence_ids)) {
    batch.assign_lengths(lengths);
    hidden.resize(ids.size() * static_cast<size_t>(width));
    vectors.resize(lengths.size() * static_cast<size_t>(width));
  }

  double seconds(Context& context, int64_t width) {
    const auto rows = static_cast<int64_t>(ids.size()), sequences = static_cast<int64_t>(lengths.size());
    const auto begin = std::chrono::steady_clock::now();
    check(context.run(
        batch, {{"ids", packed(ConstMatrix(ids.data(), rows))}},
        {{"hidden", packed(Matrix(hidden.data(), rows, width))}, {"vectors", packed(Matrix(vectors.data(), sequences, width))}},
        {.stop = &stop_flag()}));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
};

// The same sequences, each followed by id 0 up to the longest: what a runtime without ragged batches computes.
Work pad(const Work& work, int64_t longest, int64_t width) {
  std::vector<int32_t> ids;
  for (size_t s = 0; s < work.lengths.size(); ++s) {
    const auto begin = work.ids.begin() + work.batch.offsets()[s];
    ids.insert(ids.end(), begin, begin + work.lengths[s]);
    ids.resize((s + 1) * static_cast<size_t>(longest), 0);
  }
  return {std::vector<int64_t>(work.lengths.size(), longest), std::move(ids), width};
}

// The shortest, the middle and the longest sequence.
std::vector<size_t> subset(const std::vector<int64_t>& lengths) {
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lengths[a] < lengths[b]; });
  return {order.front(), order[order.size() / 2], order.back()};
}

double largest_difference(const float* got, const double* want, size_t count) {
  double worst = 0;
  for (size_t i = 0; i < count; ++i) worst = std::max(worst, difference(got[i], want[i]));
  return worst;
}

// Mean of the rows, divided by its length.
std::vector<double> pooled(const std::vector<double>& hidden, size_t width) {
  std::vector<double> mean(width);
  for (size_t i = 0; i < hidden.size(); ++i) mean[i % width] += hidden[i];
  double squares = 0;
  for (const double x : mean) squares += x * x;
  for (double& x : mean) x /= std::sqrt(squares);
  return mean;
}

double error_on_subset(const EncoderWeights& weights, const Work& work, const std::vector<size_t>& sequences) {
  Progress progress("checking against double loops");
  const auto width = static_cast<size_t>(weights.shape.width);
  double worst = 0;
  int64_t done = 0;
  for (const size_t s : sequences) {
    throw_if_interrupted();
    progress.at(done++, static_cast<int64_t>(sequences.size()));
    const auto begin = static_cast<size_t>(work.batch.offsets()[s]), length = static_cast<size_t>(work.lengths[s]);
    const std::vector<double> want = encoder_reference(weights, std::span(work.ids).subspan(begin, length));
    worst = std::max(worst, largest_difference(&work.hidden[begin * width], want.data(), want.size()));
    worst = std::max(worst, largest_difference(&work.vectors[s * width], pooled(want, width).data(), width));
  }
  return worst;
}

}  // namespace

EncoderRun run_encoder(const Setup& setup, bool quick) {
  const Sizes sizes = quick ? kQuick : kFull;
  EncoderRun run;
  run.shape.layers = sizes.layers;
  run.sequences = sizes.sequences;
  const int64_t width = run.shape.width;
  auto preparing = std::make_unique<Progress>("preparing the encoder");
  const EncoderWeights weights = generate_weights(run.shape, sizes.longest);
  const Graph graph = encoder_graph(weights);
  const Plan plan = take(Plan::compile(graph, {.isa = setup.isa}));
  Context context = take(Context::create(plan, {.threads = setup.threads, .executor = setup.executor}));

  std::vector<int64_t> lengths = generate_lengths(sizes.sequences, sizes.longest);
  run.tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  Work ragged(std::move(lengths), generate_ids(run.tokens), width);
  Work full = pad(ragged, sizes.longest, width);
  run.padded_tokens = static_cast<int64_t>(full.ids.size());

  // Both once unmeasured: memory is there and the results can be checked.
  ragged.seconds(context, width);
  full.seconds(context, width);
  preparing.reset();
  const std::vector<size_t> checked = subset(ragged.lengths);
  run.checked = static_cast<int64_t>(checked.size());
  run.max_error = error_on_subset(weights, ragged, checked);

  run.seconds = run.padded_seconds = std::numeric_limits<double>::infinity();
  Progress progress("timing the encoder");
  for (int repeat = 0; repeat < sizes.repeats; ++repeat) {  // in turn, so that both see the same machine
    progress.at(repeat, sizes.repeats);
    run.seconds = std::min(run.seconds, ragged.seconds(context, width));
    run.padded_seconds = std::min(run.padded_seconds, full.seconds(context, width));
  }
  run.gflops = encoder_flops(run.shape, ragged.lengths) / run.seconds * 1e-9;
  run.padded_gflops = encoder_flops(run.shape, full.lengths) / run.padded_seconds * 1e-9;
  return run;
}

void print_encoder(const EncoderRun& run, double peak_gflops, const Setup& setup) {
  const auto& s = run.shape;
  fmt::print("\n3. An encoder of MiniLM's shape ({} layers, {} wide, {} heads, FFN {}), generated weights\n", s.layers, s.width,
             s.heads, s.ffn);
  fmt::print(
      "   {} sequences of up to {} tokens; {} of them checked against double loops: largest difference {:.1e} (allowed "
      "{:.0e})\n\n",
      run.sequences, run.padded_tokens / run.sequences, run.checked, run.max_error, kEncoderTolerance);
  TextTable table;
  table.add({"", "tokens computed", "seconds", "useful tokens/s", "GFLOP/s", "of peak"});
  const auto row = [&](const char* name, int64_t tokens, double seconds, double gflops) {
    table.add({name, thousands(static_cast<double>(tokens)), significant(seconds),
               thousands(static_cast<double>(run.tokens) / seconds), significant(gflops),
               fmt::format("{:.0f} %", 100 * gflops / peak_gflops)});
  };
  row("as it is", run.tokens, run.seconds, run.gflops);
  row("padded", run.padded_tokens, run.padded_seconds, run.padded_gflops);
  table.print();
  fmt::print("\n   FMA peak measured just before: {} GFLOP/s on {} thread{}\n", significant(peak_gflops), setup.threads,
             setup.threads == 1 ? "" : "s");
}

}  // namespace saccade::tool
