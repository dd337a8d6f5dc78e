// tests/data/attention_cases.json: small attention problems with float64 answers. Its "conventions" give layout and meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace saccade::test {

struct CaseTensor {
  std::vector<size_t> shape;
  std::vector<double> values;
};

struct AttentionCase {
  std::string name;
  CaseTensor q, k, v;  // [B, H, L, d]; float32-exact
  std::string causal;  // none, top_left, bottom_right
  std::optional<std::vector<int64_t>> q_lengths, kv_lengths;
  std::optional<CaseTensor> mask;  // [B, Lk], or [B, H, Lq, Lk] with dimensions of size 1
  std::optional<CaseTensor> bias;  // likewise
  std::optional<int64_t> window_left, window_right;
  std::optional<double> scale, softcap;
  std::optional<std::vector<double>> alibi_slopes;
  CaseTensor output, lse;  // [B, H, Lq, dv], [B, H, Lq]
};

// All cases of SACCADE_TEST_DATA/attention_cases.json; throws when the file is not as described.
std::vector<AttentionCase> load_attention_cases();

// The file's tolerance for a component of the output.
double case_tolerance(const AttentionCase& c);

}  // namespace saccade::test
