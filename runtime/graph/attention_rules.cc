#include "runtime/graph/attention_rules.h"

#include <cmath>

#include "runtime/execute/float_state.h"
#include "runtime/graph/check.h"

namespace saccade {
inline namespace v0 {

int64_t check_heads(int64_t heads, int64_t kv_heads) {
  require(heads >= 1, "attention: heads is ", heads, ", expected at least 1");
  require(kv_heads >= 0, "attention: kv_heads is ", kv_heads, ", expected 0 (as heads) or more");
  if (kv_heads == 0) return heads;
  require(heads % kv_heads == 0, "attention: kv_heads is ", kv_heads, ", expected a divisor of heads = ", heads);
  return kv_heads;
}

void check_scores(std::optional<float> scale, float softcap, Causal causal, std::optional<int64_t> window_left,
                  std::optional<int64_t> window_right) {
  if (scale) {
    require(std::isfinite(*scale) && *scale >= 0, "attention: scale is ", *scale,
            ", expected a finite number that is not negative");
  }
  require(std::isfinite(softcap) && softcap >= 0, "attention: softcap is ", softcap,
          ", expected 0 (none) or a positive finite number");
  require(causal <= Causal::kBottomRight, "attention: causal is ", static_cast<int>(causal), ", which is no value of Causal");
  for (const auto& [side, window] : {std::pair{"window_left", window_left}, std::pair{"window_right", window_right}}) {
    if (window) require(*window >= 0, "attention: ", side, " is ", *window, ", expected none or 0 and more");
  }
}

namespace {
void check_finite(const char* argument, std::span<const float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    require(std::isfinite(values[i]), "attention: ", argument, "[", i, "] is ", values[i], ", expected a finite number");
  }
}
}  // namespace

void check_alibi(std::span<const float> slopes, int64_t heads) {
  if (slopes.empty()) return;
  require(static_cast<int64_t>(slopes.size()) == heads, "attention: alibi_slopes has ", slopes.size(),
          " numbers, expected one a head, ", heads);
  check_finite("alibi_slopes", slopes);
}

int64_t check_relative_bias(std::span<const float> bias, int64_t heads) {
  if (bias.empty()) return 0;
  const int64_t size = static_cast<int64_t>(bias.size());
  require(size % heads == 0 && size / heads % 2 == 1, "attention: relative_bias has ", size,
          " numbers, expected [heads, 2R + 1] with heads = ", heads);
  check_finite("relative_bias", bias);
  return size / heads / 2;
}

float resolve_scale(std::optional<float> scale, int64_t head_dim) {
  if (scale) return *scale;
  const FloatState state;
  // Compilers do not know that the state matters to arithmetic; volatile keeps it between the two calls.
  volatile float root = static_cast<float>(head_dim);
  root = 1.0f / std::sqrt(root);
  return root;
}

}  // namespace v0
}  // namespace saccade
