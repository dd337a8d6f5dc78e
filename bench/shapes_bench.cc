// What it costs that every batch has another shape: batches of 32 lengths drawn from 1 .. 128, each run once in shuffled order
// and each repeated until warm.
//   shapes_bench [BATCHES] [SHAPE] [THREADS]     1000, minilm or LAYERS,WIDTH,HEADS,FFN, all cores
// Blocks of 25 batches go through both in turns, so that the machine's moods meet both. Prints the ratio of the total times.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "saccade/context.h"
#include "tools/encoder.h"

namespace {

using namespace saccade;

constexpr int64_t kSequences = 32, kLongest = 128;
constexpr size_t kBlock = 25;

struct Shapes {
  Context context;
  int64_t width;
  std::vector<std::vector<int64_t>> batches;
  std::vector<int32_t> ids = tool::generate_ids(kSequences * kLongest);
  std::vector<float> vectors = std::vector<float>(static_cast<size_t>(kSequences * width));
  Batch batch = {};

  // Seconds of one run, shape included.
  double run(size_t i) {
    const auto begin = std::chrono::steady_clock::now();
    batch.assign_lengths(batches[i]);
    const Input input{"ids", packed(ConstMatrix(ids.data(), batch.tokens()))};
    const Output output{"vectors", packed(Matrix(vectors.data(), kSequences, width))};
    const Status status = context.run(batch, std::span(&input, 1), std::span(&output, 1));
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str()), std::exit(1);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
};

}  // namespace

int main(int argc, char** argv) {
  const size_t count = argc > 1 ? static_cast<size_t>(std::atoi(argv[1])) : 1000;
  tool::EncoderShape shape;
  std::string error;
  if (count == 0 || !tool::parse_shape(argc > 2 ? argv[2] : "minilm", shape, error)) {
    std::fprintf(stderr, "shapes_bench [BATCHES] [SHAPE] [THREADS]  %s\n", error.c_str());
    return 2;
  }
  const int threads = argc > 3 ? std::atoi(argv[3]) : 0;
  const Result<Plan> plan = Plan::compile(tool::encoder_graph(tool::generate_weights(shape, kLongest)), {.outputs = {"vectors"}});
  if (!plan.ok()) return std::fprintf(stderr, "%s\n", plan.status().to_string().c_str()), 1;
  Result<Context> context = Context::create(*plan, {.threads = threads});
  if (!context.ok()) return std::fprintf(stderr, "%s\n", context.status().to_string().c_str()), 1;

  Shapes shapes{.context = *std::move(context), .width = shape.width, .batches = {}};
  std::mt19937 engine(1);
  for (size_t i = 0; i < count; ++i) {
    auto& lengths = shapes.batches.emplace_back();
    for (int64_t s = 0; s < kSequences; ++s) lengths.push_back(1 + static_cast<int64_t>(engine() % kLongest));
  }
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), engine);

  double changing = 0, repeated = 0;
  shapes.run(0);
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t end = std::min(count, begin + kBlock);
    for (size_t i = begin; i < end; ++i) changing += shapes.run(order[i]);
    for (size_t i = begin; i < end; ++i) {
      shapes.run(order[i]);
      repeated += shapes.run(order[i]);
    }
  }
  std::printf("%zu batches: %.2f s each once, %.2f s warm, ratio %.4f; arena %.1f MB\n", count, changing, repeated,
              changing / repeated, 1e-6 * static_cast<double>(shapes.context.arena_bytes()));
}
