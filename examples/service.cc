// A small service: worker threads answer requests, each a padded batch of token ids, with one vector a sequence. One plan is
// shared; every worker has its own context. Build it against an installed Saccade: find_package(saccade), saccade::saccade.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "saccade/saccade.h"

constexpr int64_t kWords = 1000, kWidth = 64, kSequences = 8, kMaxLength = 24;

// Weights of this example are random; they live as long as their owner says.
saccade::Weight weight(int64_t in, int64_t out, const char* name) {
  static std::mt19937 engine(1);
  auto numbers = std::make_shared<std::vector<float>>(in * out);
  for (float& x : *numbers) x = std::uniform_real_distribution<float>(-0.1f, 0.1f)(engine);
  return {numbers->data(), saccade::Dtype::kF32, in, out, saccade::Layout::kInOut, 0, numbers, name};
}

// Embedding, one attention layer with a residual, mean pooling.
saccade::Result<saccade::Plan> make_plan() {
  saccade::Graph graph;
  const auto words = weight(kWords, kWidth, "words");
  const auto x = graph.embedding(
      {{.table = {words.data, words.dtype, kWords, kWidth, 0, words.owner, words.name}, .ids = graph.ids("ids")}});
  const auto q = graph.linear(x, weight(kWidth, kWidth, "wq")), k = graph.linear(x, weight(kWidth, kWidth, "wk"));
  const auto v = graph.linear(x, weight(kWidth, kWidth, "wv"));
  const auto y = graph.linear(graph.attention(q, k, v, {.heads = 4}), weight(kWidth, kWidth, "wo"));
  graph.output("vectors", graph.l2_normalize(graph.pool(graph.add(x, y), saccade::Pooling::kMean)));
  return saccade::Plan::compile(graph);  // an error of any call above comes back here
}

int failed(const saccade::Status& status) {
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return -1;
}

// Answers requests until `stop` is set; returns how many, or -1 after an error.
int serve(const saccade::Plan& plan, unsigned seed, const std::atomic<bool>& stop) {
  auto context = saccade::Context::create(plan, {.threads = 1});
  if (!context) return failed(context.status());
  std::mt19937 engine(seed);
  std::vector<int32_t> ids(kSequences * kMaxLength), mask(ids.size());
  std::vector<float> vectors(kSequences * kWidth);
  saccade::Batch batch;
  for (int answered = 0;; ++answered) {
    for (int64_t s = 0; s < kSequences; ++s) {  // a request: sequences of different lengths, padded to kMaxLength
      const unsigned length = engine() % (kMaxLength + 1);
      for (unsigned t = 0; t < kMaxLength; ++t) {
        mask[s * kMaxLength + t] = t < length;
        ids[s * kMaxLength + t] = t < length ? static_cast<int32_t>(engine() % kWords) : 0;
      }
    }
    batch.assign_mask(mask.data(), {.sequences = kSequences, .max_length = kMaxLength});
    const saccade::ConstMatrix ids_view(ids.data(), kSequences * kMaxLength);
    const saccade::Matrix vectors_view(vectors.data(), kSequences, kWidth);
    const saccade::Status status =
        context->run(batch, {{"ids", saccade::padded(ids_view)}}, {{"vectors", saccade::packed(vectors_view)}}, {.stop = &stop});
    if (status.code() == saccade::Code::kCancelled) return answered;  // the context would take the next request all the same
    if (!status.ok()) return failed(status);
  }
}

int main() {
  const auto plan = make_plan();
  if (!plan) return failed(plan.status()), 1;
  std::atomic<bool> stop{false};
  int answered[3] = {};
  std::vector<std::thread> workers;
  for (unsigned w = 0; w < 3; ++w) workers.emplace_back([&, w] { answered[w] = serve(*plan, w, stop); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  stop = true;
  for (std::thread& worker : workers) worker.join();
  std::printf("answered %d + %d + %d requests\n", answered[0], answered[1], answered[2]);
  return answered[0] < 0 || answered[1] < 0 || answered[2] < 0 ? 1 : 0;
}
