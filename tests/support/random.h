// Replayable numbers: the seed is printed by every comparison that fails (see compare.h).
#pragma once

#include <cstdint>
#include <random>

namespace saccade::test {

class Random {
 public:
  explicit Random(uint32_t seed) : seed_(seed), engine_(seed) {}
  uint32_t seed() const { return seed_; }
  float uniform(float low = -1.0f, float high = 1.0f) { return std::uniform_real_distribution<float>(low, high)(engine_); }
  float normal() { return std::normal_distribution<float>()(engine_); }
  int64_t integer(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  template <class Range>
  void fill(Range& range, float low = -1.0f, float high = 1.0f) {
    for (auto& x : range) x = uniform(low, high);
  }

 private:
  uint32_t seed_;
  std::mt19937 engine_;
};

}  // namespace saccade::test
