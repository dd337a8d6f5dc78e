#include "runtime/plan/cost.h"

#include <algorithm>

namespace saccade {
inline namespace v0 {
namespace {

// Pairs (i, j) with i in [begin, end) that causal and window limits allow.
int64_t live_pairs(const AttentionData& attention, int64_t queries, int64_t keys, int64_t begin, int64_t end) {
  const bool causal = attention.causal != Causal::kNone;
  if (!causal && !attention.window_left && !attention.window_right) return (end - begin) * keys;
  const int64_t shift = attention.causal == Causal::kBottomRight ? keys - queries : 0;
  // No key is further than this from any query: keeps the sums small.
  const int64_t far = queries + keys;
  const int64_t left = std::min(attention.window_left.value_or(far), far);
  const int64_t right = causal ? 0 : std::min(attention.window_right.value_or(far), far);
  int64_t pairs = 0;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t p = i + shift;
    pairs += std::max<int64_t>(0, std::min(keys, p + right + 1) - std::max<int64_t>(0, p - left));
  }
  return pairs;
}

}  // namespace

int64_t block_floats(const PlanData& plan, const BatchSize& size) {
  int64_t floats = plan.block_width.back() * row_capacity(size.sequences);
  for (size_t i = 0; i < size.tokens.size(); ++i) floats += plan.block_width[i] * row_capacity(size.tokens[i]);
  return floats;
}

int64_t scratch_floats(const PlanData& plan, const BatchSize& size) {
  size_t floats = 0;
  for (const AttentionWork& work : plan.attention_works) {
    const size_t keys = static_cast<size_t>(size.longest[static_cast<size_t>(work.keys.index)]);
    const size_t head_dim = static_cast<size_t>(work.head_dim), value_dim = static_cast<size_t>(work.value_dim);
    const size_t pack = kernels::round_up(kernels::attention_pack_floats(*plan.table, keys, head_dim, value_dim), 16);
    const size_t rows = kernels::round_up(kernels::attention_row_floats_up_to(*plan.table, keys, value_dim), 16);
    floats = std::max(floats, pack + rows);
  }
  int64_t chain_floats = 0;
  for (const Chain& chain : plan.chains) {
    const int64_t rows = chain.rows.per_sequence() ? size.sequences : size.tokens[static_cast<size_t>(chain.rows.set.index)];
    chain_floats = std::max(chain_floats, chain.width * chain_capacity(rows));
  }
  return std::max(static_cast<int64_t>(floats), chain_floats);
}

BatchSize worst_case(const PlanData& plan, int64_t tokens, int64_t sequences) {
  const std::vector<int64_t> all(plan.token_sets.size() + 1, tokens);
  return {.tokens = all, .longest = all, .sequences = sequences};
}

int64_t arena_bytes(const PlanData& plan, const BatchSize& size, int threads) {
  return static_cast<int64_t>(sizeof(float)) * (block_floats(plan, size) + scratch_floats(plan, size) * threads);
}

double matmul_flops(const PlanData& plan, const Step& step, int64_t rows) {
  double flops = 0;
  for (const Section& section : step.sections) {
    const Node& node = plan.nodes[static_cast<size_t>(section.node)];
    flops += 2.0 * static_cast<double>(rows) * static_cast<double>(node.weight->in) * static_cast<double>(node.weight->out);
  }
  return flops;
}

double attention_flops(const PlanData& plan, const Step& step, int64_t queries, int64_t keys) {
  const AttentionData& attention = plan.node(step).attention;
  const Take take = plan.value(step.out).rows.take;
  const int64_t begin = take == Take::kLast ? std::max<int64_t>(0, queries - 1) : 0;
  const int64_t end = take == Take::kFirst ? std::min<int64_t>(1, queries) : queries;
  const double dims = static_cast<double>(attention.heads * (attention.head_dim + attention.value_dim));
  return 2.0 * dims * static_cast<double>(live_pairs(attention, queries, keys, begin, end));
}

}  // namespace v0
}  // namespace saccade
