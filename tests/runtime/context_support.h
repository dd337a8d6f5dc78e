// What both tests of Context::run start from: an encoder's shape, and the smallest graph that computes something.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "saccade/context.h"
#include "tests/support/encoder.h"

namespace saccade::test {

inline constexpr EncoderShape kBert{.layers = 2, .width = 48, .heads = 4, .kv_heads = 4, .ffn = 80};

// y = x W of two columns, from x [tokens, 3].
struct Small {
  std::vector<float> w = {1, 0, 0, 1, 1, 1};
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<float> y = std::vector<float>(6, -7);
  Batch batch;
  Plan plan;
  Context context;
  static Plan compile(const std::vector<float>& w) {
    Graph g;
    g.output("y", g.linear(g.input("x", 3), Weight(w.data(), 3, 2, Layout::kInOut)));
    return *Plan::compile(g);
  }
  explicit Small(int threads = 1) : plan(compile(w)), context(*Context::create(plan, {.threads = threads})) {
    batch.assign_lengths(std::vector<int64_t>{2, 1});
  }
  InputRows in() const { return packed(ConstMatrix(x.data(), 3, 3)); }
  OutputRows out() { return packed(Matrix(y.data(), 3, 2)); }
  void expect_refused(Code code, const std::vector<std::string>& words, std::vector<Input> inputs, std::vector<Output> outputs) {
    y.assign(6, -7);
    const Status status = context.run(batch, inputs, outputs);
    EXPECT_EQ(status.code(), code) << status.to_string();
    for (const std::string& word : words) {
      EXPECT_NE(status.message().find(word), std::string::npos) << "'" << word << "' is not in: " << status.message();
    }
    EXPECT_EQ(y, std::vector<float>(6, -7));
    EXPECT_TRUE(context.run(batch, {{"x", in()}}, {{"y", out()}}).ok());
    EXPECT_EQ(y, (std::vector<float>{4, 5, 10, 11, 16, 17}));
  }
};

}  // namespace saccade::test
