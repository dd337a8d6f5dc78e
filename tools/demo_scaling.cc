// Part 2: without the division by sqrt(d), softmax puts nearly everything on one key. 2,000 queries against 5 keys each, all
// entries N(0, 1), for three head dimensions.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tools/console.h"
#include "tools/demo.h"

namespace saccade::tool {
namespace {

constexpr int64_t kRepetitions = 2000, kKeys = 5;
constexpr int64_t kDims[] = {8, 64, 256};

// The stream that numpy's RandomState(seed).randn draws: Marsaglia's polar method on 53-bit uniforms of MT19937, the second
// number of a pair first.
class Normals {
 public:
  explicit Normals(uint32_t seed) : engine_(seed) {}
  double next() {
    if (kept_) {
      kept_ = false;
      return second_;
    }
    double x = 0, y = 0, r = 0;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      r = x * x + y * y;
    } while (r >= 1 || r == 0);
    const double f = std::sqrt(-2 * std::log(r) / r);
    kept_ = true;
    second_ = f * x;
    return f * y;
  }

 private:
  double uniform() {
    const auto high = static_cast<double>(engine_() >> 5), low = static_cast<double>(engine_() >> 6);
    return (high * 67108864.0 + low) / 9007199254740992.0;  // (high 2^26 + low) / 2^53
  }
  std::mt19937 engine_;
  bool kept_ = false;
  double second_ = 0;
};

double mean_largest(const std::vector<float>& weights) {
  double sum = 0;
  for (auto row = weights.begin(); row != weights.end(); row += kKeys)
    sum += static_cast<double>(*std::max_element(row, row + kKeys));
  return sum / static_cast<double>(kRepetitions);
}

double standard_deviation(const std::vector<float>& values) {
  const double count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const float x : values) squares += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean);
  return std::sqrt(squares / count);
}

ScalingRow run_dim(int64_t d, Normals& normals, Workspace& workspace) {
  std::vector<float> q, k, out(static_cast<size_t>(kRepetitions * d));
  for (int64_t r = 0; r < kRepetitions; ++r) {
    for (int64_t i = 0; i < d; ++i) q.push_back(static_cast<float>(normals.next()));
    for (int64_t i = 0; i < kKeys * d; ++i) k.push_back(static_cast<float>(normals.next()));
  }
  std::vector<float> scores(static_cast<size_t>(kRepetitions * kKeys)), weights(scores.size());
  AttentionArgs args;
  args.batch = kRepetitions;
  args.queries = 1;
  args.keys = kKeys;
  args.head_dim = d;
  args.q = bshd<const float>(q.data(), args.queries, 1, d);
  args.k = bshd<const float>(k.data(), args.keys, 1, d);
  args.v = args.k;
  args.out = bshd<float>(out.data(), args.queries, 1, d);
  args.scores = scores.data();
  args.weights = weights.data();
  args.stop = &stop_flag();

  ScalingRow row;
  row.d = args.head_dim;
  row.std_theory = static_cast<double>(std::sqrt(static_cast<float>(args.head_dim)));
  check(attention(args, workspace));  // scale 1 / sqrt(d)
  row.scaled = mean_largest(weights);
  row.std = standard_deviation(scores);
  args.scale = 1.0f;
  check(attention(args, workspace));
  row.unscaled = mean_largest(weights);
  return row;
}

}  // namespace

std::vector<ScalingRow> run_scaling(const Setup& setup) {
  const Progress progress("simulating scores");
  Workspace workspace = take(Workspace::create({.threads = setup.threads, .executor = setup.executor, .isa = setup.isa.c_str()}));
  Normals normals(7);
  std::vector<ScalingRow> rows;
  for (const int64_t d : kDims) {
    throw_if_interrupted();
    rows.push_back(run_dim(d, normals, workspace));
  }
  return rows;
}

Tensors scaling_tensors(const std::vector<ScalingRow>& rows) {
  Tensors tensors;
  const auto add = [&](const char* name, double value) {
    Tensor& tensor = tensors[name];
    tensor.values.push_back(static_cast<float>(value));
    tensor.shape = {static_cast<int64_t>(tensor.values.size())};
  };
  for (const ScalingRow& row : rows) {
    add("d", static_cast<double>(row.d));
    add("std_theory", row.std_theory);
    add("max_weight_unscaled", row.unscaled);
    add("max_weight_scaled", row.scaled);
  }
  return tensors;
}

void print_scaling(const Example& example, const std::vector<ScalingRow>& rows) {
  fmt::print("\n2. Why scores are divided by sqrt(d): mean largest weight of {} random queries against {} keys\n\n",
             thousands(static_cast<double>(kRepetitions)), kKeys);
  TextTable table;
  table.add({"d", "std of q·k", "sqrt(d)", "unscaled", "published", "scaled", "published"});
  for (size_t i = 0; i < rows.size(); ++i) {
    const ScalingRow& r = rows[i];
    table.add({fmt::format("{}", r.d), fmt::format("{:.2f}", r.std), fmt::format("{:.2f}", r.std_theory),
               fmt::format("{:.4f}", r.unscaled), published(example, "max_weight_unscaled", i), fmt::format("{:.4f}", r.scaled),
               published(example, "max_weight_scaled", i)});
  }
  table.print();
}

}  // namespace saccade::tool
