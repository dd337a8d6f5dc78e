// saccade bench: encoder, attention and peak through the public API (bench_kernels.cc has the kernels).
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <random>
#include <sstream>

#include "tools/bench_model.h"
#include "tools/console.h"
#include "tools/timing.h"

namespace saccade::tool {
namespace {

// Numbers separated by commas or white space.
std::vector<int64_t> read_lengths(const std::string& file) {
  std::istringstream stream(read_file(file));
  std::vector<int64_t> lengths;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      int64_t length = -1;
      const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), length);
      if (code != std::errc() || end != word.data() + word.size() || length < 0 || length > kMaxLength) {
        throw Failure(kFailure, fmt::format("{}: line {}: '{}' is no length from 0 to {}", printable(file), number,
                                            printable(word, 40), kMaxLength));
      }
      lengths.push_back(length);
    }
  }
  if (lengths.empty()) throw Failure(kFailure, printable(file) + ": holds no length");
  return lengths;
}

std::vector<float> random_floats(int64_t count, uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(engine() >> 8) * 0x1p-23f - 1.0f;
  return values;
}

}  // namespace

int run_bench_encoder(const BenchEncoderOptions& options) {
  const Setup setup = make_setup(options);
  std::vector<int64_t> lengths = options.lengths_file.empty() ? options.lengths : read_lengths(options.lengths_file);
  if (!options.model.empty()) return run_bench_model(options, setup, std::move(lengths));
  if (lengths.empty()) lengths = generate_lengths(32, 128);
  EncoderShape shape;
  std::string error;
  if (!parse_shape(options.shape, shape, error)) throw Failure(kUsage, "--shape: " + error);
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  const int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t{0}), sequences = std::ssize(lengths);

  const double peak = measure_peak_of(setup.isa, setup.threads);
  const Plan plan = [&] {
    const Progress progress("generating and packing weights");
    return take(Plan::compile(encoder_graph(generate_weights(shape, longest)),
                              {.isa = setup.isa, .outputs = {"vectors"}, .release_weights = true}));
  }();
  Context context = take(Context::create(plan, {.threads = setup.threads, .executor = setup.executor}));
  Batch batch;
  batch.assign_lengths(lengths);
  const std::vector<int32_t> ids = generate_ids(tokens);
  std::vector<float> vectors(static_cast<size_t>(sequences * shape.width));
  const Timing timing = time_repeats(options.repeat, "encoding", [&] {
    check(context.run(batch, {{"ids", packed(ConstMatrix(ids.data(), tokens))}},
                      {{"vectors", packed(Matrix(vectors.data(), sequences, shape.width))}}, {.stop = &stop_flag()}));
  });

  BenchReport report{.command = "bench encoder", .title = {}, .setup = setup, .timing = timing, .peak_before = peak};
  report.flops = encoder_flops(shape, lengths);
  report.title = fmt::format(
      "encoder of {} layers, {} wide, {} heads, FFN {}; {} sequences, {} tokens (padded: {}); ids to vectors, no tokenizing",
      shape.layers, shape.width, shape.heads, shape.ffn, sequences, thousands(static_cast<double>(tokens)),
      thousands(static_cast<double>(sequences * longest)));
  add_rates(report, tokens, sequences, context.arena_bytes(), plan.weight_bytes());
  return print_bench(report, options.json);
}

int run_bench_attention(const BenchAttentionOptions& options) {
  const Setup setup = make_setup(options);
  const int64_t length = options.length, dim = options.head_dim;
  int64_t size = options.batch;
  for (const int64_t factor : {options.heads, length, dim}) {
    if (__builtin_mul_overflow(size, factor, &size)) throw Failure(kUsage, "batch x heads x length x head_dim is too large");
  }
  const std::vector<float> q = random_floats(size, 1), k = random_floats(size, 2), v = random_floats(size, 3);
  std::vector<float> out(static_cast<size_t>(size));
  Workspace workspace = take(Workspace::create({.threads = setup.threads, .executor = setup.executor, .isa = setup.isa.c_str()}));
  AttentionArgs args;
  args.batch = options.batch;
  args.heads = options.heads;
  args.queries = args.keys = length;
  args.head_dim = dim;
  args.q = bshd(q.data(), length, options.heads, dim);
  args.k = bshd(k.data(), length, options.heads, dim);
  args.v = bshd(v.data(), length, options.heads, dim);
  args.out = bshd(out.data(), length, options.heads, dim);
  args.causal = options.causal ? Causal::kTopLeft : Causal::kNone;
  args.stop = &stop_flag();

  const double peak = measure_peak_of(setup.isa, setup.threads);
  const Timing timing = time_repeats(options.repeat, "attention", [&] { check(attention(args, workspace)); });
  const double n = static_cast<double>(length);
  const double pairs = options.causal ? n * (n + 1) / 2 : n * n;
  BenchReport report{.command = "bench attention", .title = {}, .setup = setup, .timing = timing, .peak_before = peak};
  report.flops = 4 * static_cast<double>(options.batch * options.heads * dim) * pairs;
  report.title = fmt::format("attention(), f32 [batch {}, length {}, heads {}, head_dim {}]{}", options.batch, length,
                             options.heads, dim, options.causal ? ", causal (live pairs count)" : "");
  report.more = {{"workspace_bytes", workspace.bytes()}};
  report.lines.emplace_back("workspace", bytes_text(workspace.bytes()));
  return print_bench(report, options.json);
}

int run_bench_peak(const BenchOptions& options) {
  const Setup setup = make_setup(options);
  double peak = 0;
  int exit = kDone;
  try {
    for (int r = 0; r < options.repeat; ++r) {
      throw_if_interrupted();
      peak = std::max(peak, measure_peak_of(setup.isa, setup.threads));
    }
  } catch (const Interrupted&) {
    exit = interrupted();
  }
  if (options.json) {
    print_numbers("bench peak", setup, {{"peak_gflops", peak}});
  } else {
    fmt::print("{}\nFMA peak {} GFLOP/s\n", headline(setup), significant(peak));
  }
  return exit;
}

}  // namespace saccade::tool
