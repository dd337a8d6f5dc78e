#include "tests/support/cases.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace saccade::test {
namespace {

using nlohmann::json;

double number(const json& x) {
  if (x.is_number()) return x.get<double>();
  const std::string text = x.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  throw std::runtime_error("attention_cases.json: not a number: " + text);
}

void flatten(const json& x, std::vector<double>& out) {
  if (!x.is_array()) {
    out.push_back(number(x));
    return;
  }
  for (const json& element : x) flatten(element, out);
}

// {shape, values} or {shape, rule}, then overrides.
CaseTensor tensor(const json& x) {
  CaseTensor t;
  t.shape = x.at("shape").get<std::vector<size_t>>();
  size_t count = 1;
  for (size_t n : t.shape) count *= n;
  if (x.contains("rule")) {
    const json& rule = x.at("rule");
    const auto get = [&](const char* name) { return rule.at(name).get<int64_t>(); };
    const int64_t factor[4] = {get("cb"), get("ch"), get("ci"), get("cj")};
    const int64_t c0 = get("c0"), m = get("m"), s = get("s"), divisor = get("t");
    for (size_t flat = 0; flat < count; ++flat) {
      int64_t sum = c0;
      size_t rest = flat;
      for (size_t axis = 4; axis-- > 0;) {
        sum += factor[axis] * static_cast<int64_t>(rest % t.shape.at(axis));
        rest /= t.shape[axis];
      }
      const int64_t remainder = (sum % m + m) % m;
      t.values.push_back(static_cast<double>(remainder - s) / static_cast<double>(divisor));
    }
  } else {
    flatten(x.at("values"), t.values);
  }
  if (t.values.size() != count) throw std::runtime_error("attention_cases.json: shape and values differ");
  if (x.contains("overrides")) {
    for (const json& change : x.at("overrides")) {
      const auto index = change.at("index").get<std::vector<size_t>>();
      size_t first = 0, block = 1;  // a short index fills the whole sub-block
      for (size_t axis = 0; axis < t.shape.size(); ++axis) {
        first = first * t.shape[axis] + (axis < index.size() ? index[axis] : 0);
        if (axis >= index.size()) block *= t.shape[axis];
      }
      for (size_t i = 0; i < block; ++i) t.values.at(first + i) = number(change.at("value"));
    }
  }
  return t;
}

template <class T>
std::optional<T> optional(const json& options, const char* name) {
  const json& x = options.at(name);
  if (x.is_null()) return std::nullopt;
  return x.get<T>();
}

std::optional<CaseTensor> optional_tensor(const json& options, const char* name) {
  const json& x = options.at(name);
  if (x.is_null()) return std::nullopt;
  return tensor(x);
}

}  // namespace

std::vector<AttentionCase> load_attention_cases() {
  std::ifstream file(SACCADE_TEST_DATA "/attention_cases.json");
  if (!file) throw std::runtime_error("cannot open " SACCADE_TEST_DATA "/attention_cases.json");
  const json root = json::parse(file);
  std::vector<AttentionCase> cases;
  for (const json& x : root.at("cases")) {
    AttentionCase c;
    const json& options = x.at("options");
    c.name = x.at("name").get<std::string>();
    c.q = tensor(x.at("inputs").at("q"));
    c.k = tensor(x.at("inputs").at("k"));
    c.v = tensor(x.at("inputs").at("v"));
    c.causal = options.at("causal").get<std::string>();
    c.q_lengths = optional<std::vector<int64_t>>(options, "q_lengths");
    c.kv_lengths = optional<std::vector<int64_t>>(options, "kv_lengths");
    c.mask = optional_tensor(options, "mask");
    c.bias = optional_tensor(options, "bias");
    c.window_left = optional<int64_t>(options, "window_left");
    c.window_right = optional<int64_t>(options, "window_right");
    c.scale = optional<double>(options, "scale");
    c.softcap = optional<double>(options, "softcap");
    c.alibi_slopes = optional<std::vector<double>>(options, "alibi_slopes");
    c.output = tensor(x.at("expected").at("output"));
    c.lse = tensor(x.at("expected").at("lse"));
    cases.push_back(std::move(c));
  }
  return cases;
}

double case_tolerance(const AttentionCase& c) {
  double largest = 1;
  for (double x : c.v.values) {
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  }
  return 2e-5 * largest;
}

}  // namespace saccade::test
