// tests/data/attention_cases.json through a plan: q, k and v are inputs, keys are a token set of their own.
#include <gtest/gtest.h>

#include "saccade/saccade.h"
#include "tests/support/cases.h"
#include "tests/support/compare.h"

namespace saccade::test {
namespace {

// Why a case cannot be said as a graph; empty when it can.
std::string not_a_graph(const AttentionCase& c) {
  if (c.bias) return "dense bias";
  if (c.mask && c.mask->shape.size() == 4) {
    if (c.mask->shape[1] != 1 || c.mask->shape[2] != 1) return "dense mask";
  }
  // A mask on keys removes rows: what is left is counted from 0, where the case counts slots.
  if (c.mask && (c.causal != "none" || c.window_left || c.window_right || c.alibi_slopes)) return "positions counted by slot";
  return {};
}

// Key is live in sequence b.
bool live_key(const AttentionCase& c, size_t b, size_t j) {
  if (c.kv_lengths && static_cast<int64_t>(j) >= (*c.kv_lengths)[b]) return false;
  if (!c.mask) return true;
  const CaseTensor& m = *c.mask;
  const size_t keys = m.shape.back();
  return m.values[(m.shape[0] == 1 ? 0 : b) * keys + (keys == 1 ? 0 : j)] != 0;
}
bool live_query(const AttentionCase& c, size_t b, size_t i) {
  return !c.q_lengths || static_cast<int64_t>(i) < (*c.q_lengths)[b];
}

// [B, H, L, d] as padded rows [B * L, H * d].
std::vector<float> padded_rows(const CaseTensor& t) {
  const size_t batch = t.shape[0], heads = t.shape[1], rows = t.shape[2], dim = t.shape[3];
  std::vector<float> out(t.values.size());
  for (size_t b = 0; b < batch; ++b) {
    for (size_t h = 0; h < heads; ++h) {
      for (size_t i = 0; i < rows; ++i) {
        for (size_t d = 0; d < dim; ++d) {
          out[((b * rows + i) * heads + h) * dim + d] = static_cast<float>(t.values[((b * heads + h) * rows + i) * dim + d]);
        }
      }
    }
  }
  return out;
}

void run_case(const AttentionCase& c) {
  const size_t batch = c.q.shape[0], heads = c.q.shape[1], queries = c.q.shape[2], keys = c.k.shape[2];
  const int64_t q_width = static_cast<int64_t>(heads * c.q.shape[3]), k_width = static_cast<int64_t>(c.k.shape[1] * c.k.shape[3]),
                v_width = static_cast<int64_t>(c.v.shape[1] * c.v.shape[3]), y_width = static_cast<int64_t>(heads * c.v.shape[3]);
  std::vector<float> slopes;
  AttentionOptions options{.heads = static_cast<int64_t>(heads), .kv_heads = static_cast<int64_t>(c.k.shape[1])};
  if (c.scale) options.scale = static_cast<float>(*c.scale);
  if (c.softcap) options.softcap = static_cast<float>(*c.softcap);
  options.causal = c.causal == "top_left" ? Causal::kTopLeft : c.causal == "bottom_right" ? Causal::kBottomRight : Causal::kNone;
  options.window_left = c.window_left;
  options.window_right = c.window_right;
  if (c.alibi_slopes) slopes.assign(c.alibi_slopes->begin(), c.alibi_slopes->end());
  options.alibi_slopes = Vector(slopes.data(), static_cast<int64_t>(slopes.size()));

  Graph g;
  const RowSet key_rows = g.token_set("keys");
  g.output("y", g.attention(g.input("q", q_width), g.input("k", k_width, key_rows), g.input("v", v_width, key_rows), options));
  auto plan = Plan::compile(g);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  auto context = Context::create(*plan, {.threads = 2});
  ASSERT_TRUE(context.ok());

  std::vector<uint8_t> q_mask, k_mask;
  for (size_t b = 0; b < batch; ++b) {
    for (size_t i = 0; i < queries; ++i) q_mask.push_back(live_query(c, b, i));
    for (size_t j = 0; j < keys; ++j) k_mask.push_back(live_key(c, b, j));
  }
  Batch shape;
  shape.assign_mask(q_mask.data(), {.sequences = static_cast<int64_t>(batch), .max_length = static_cast<int64_t>(queries)});
  shape.assign_mask(k_mask.data(),
                    {.sequences = static_cast<int64_t>(batch), .max_length = static_cast<int64_t>(keys), .rows = key_rows});
  const std::vector<float> q = padded_rows(c.q), k = padded_rows(c.k), v = padded_rows(c.v);
  std::vector<float> y(batch * queries * static_cast<size_t>(y_width), -7);
  const int64_t q_rows = static_cast<int64_t>(batch * queries), k_rows = static_cast<int64_t>(batch * keys);
  const Status status = context->run(shape,
                                     {{"q", padded(ConstMatrix(q.data(), q_rows, q_width))},
                                      {"k", padded(ConstMatrix(k.data(), k_rows, k_width))},
                                      {"v", padded(ConstMatrix(v.data(), k_rows, v_width))}},
                                     {{"y", padded(Matrix(y.data(), q_rows, y_width))}});
  ASSERT_TRUE(status.ok()) << status.to_string();
  const std::vector<float> want = padded_rows(c.output);
  Comparison comparison(c.name);
  for (size_t r = 0; r < batch * queries; ++r) {
    for (size_t j = 0; j < static_cast<size_t>(y_width); ++j) {
      const size_t at = r * static_cast<size_t>(y_width) + j;
      comparison.add(r, j, y[at], want[at], case_tolerance(c));
    }
  }
  EXPECT_TRUE(comparison.result());
}

TEST(PlanCases, EveryCaseOfTheFile) {
  size_t ran = 0;
  std::vector<std::string> left_out;
  for (const AttentionCase& c : load_attention_cases()) {
    const std::string reason = not_a_graph(c);
    if (!reason.empty()) {
      left_out.push_back(c.name + ": " + reason);
      continue;
    }
    SCOPED_TRACE(c.name);
    run_case(c);
    ++ran;
  }
  for (const std::string& line : left_out) std::printf("not through a plan: %s\n", line.c_str());
  EXPECT_EQ(ran + left_out.size(), 74u);
  EXPECT_EQ(left_out.size(), 12u);
}

}  // namespace
}  // namespace saccade::test
