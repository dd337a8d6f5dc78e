// Checks that Graph::attention and attention() share. Each throws a Failure whose message begins with "attention: ".
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "saccade/graph.h"

namespace saccade {
inline namespace v0 {

// kv_heads, or heads where it is 0.
int64_t check_heads(int64_t heads, int64_t kv_heads);
void check_scores(std::optional<float> scale, float softcap, Causal causal, std::optional<int64_t> window_left,
                  std::optional<int64_t> window_right);
void check_alibi(std::span<const float> slopes, int64_t heads);
// R of [heads, 2R + 1]; 0 when there is none.
int64_t check_relative_bias(std::span<const float> bias, int64_t heads);
// `scale`, or 1 / sqrt(head_dim) rounded to nearest whatever the caller's rounding mode is.
float resolve_scale(std::optional<float> scale, int64_t head_dim);

}  // namespace v0
}  // namespace saccade
