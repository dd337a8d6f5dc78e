// One attention layer on two sequences, large enough that its work is shared among threads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "saccade/saccade.h"
#include "tests/support/random.h"

namespace saccade::test {

class SmallGraph {
 public:
  explicit SmallGraph(int threads, std::shared_ptr<Executor> executor = nullptr) {
    Random random(7);
    for (auto* values : {&wq_, &wk_, &wv_}) {
      values->resize(kWidth * kWidth);
      random.fill(*values);
    }
    x_.resize(kTokens * kWidth);
    random.fill(x_);
    y_.resize(kTokens * kWidth);
    Graph graph;
    const auto weight = [](const std::vector<float>& w) { return Weight(w.data(), kWidth, kWidth, Layout::kInOut); };
    const auto x = graph.input("x", kWidth);
    const auto y =
        graph.attention(graph.linear(x, weight(wq_)), graph.linear(x, weight(wk_)), graph.linear(x, weight(wv_)), {.heads = 2});
    graph.output("y", y);
    auto plan = Plan::compile(graph, {});
    if (!plan.ok()) {
      status_ = plan.status();
      return;
    }
    auto context = Context::create(*plan, {.threads = threads, .executor = std::move(executor)});
    if (!context.ok()) {
      status_ = context.status();
      return;
    }
    context_ = *std::move(context);
    const int64_t lengths[] = {kTokens - 50, 50};
    batch_.assign_lengths(lengths);
  }

  Status run() {
    if (!status_.ok()) return status_;
    return context_->run(batch_, {{"x", packed(ConstMatrix(x_.data(), kTokens, kWidth))}},
                         {{"y", packed(Matrix(y_.data(), kTokens, kWidth))}});
  }
  const std::vector<float>& rows() const { return y_; }

 private:
  static constexpr int64_t kTokens = 200, kWidth = 64;
  std::vector<float> wq_, wk_, wv_, x_, y_;
  Batch batch_;
  std::optional<Context> context_;
  Status status_;
};

}  // namespace saccade::test
