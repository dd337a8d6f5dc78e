// FMA peak: independent chains, twice latency x ports (2 x 5 x 2 = 20 at most on current cores; 12 fit in 16 registers and
// suffice for latency 4 and 2 ports, 24 need 32 registers).
#pragma once

#include "kernels/generic/vec.h"
#include "kernels/kernels.h"

namespace saccade::kernels {
namespace {

template <class Arch>
void fma_chains(const FmaChainsArgs& args) {
#if defined(__AVX512F__) || defined(__aarch64__)
  constexpr size_t kChains = 24;
#else
  constexpr size_t kChains = 12;
#endif
  using V = Vec<float, Arch>;
  V chain[kChains];
  SACCADE_UNROLL for (size_t i = 0; i < kChains; ++i) chain[i] = V(static_cast<float>(i + 3));  // (2 would stay 2)
  const V factor(0.5f), term(1.0f);
  for (size_t n = 0; n < args.iterations; ++n) {
    SACCADE_UNROLL for (size_t i = 0; i < kChains; ++i) chain[i] = fma<Arch>(chain[i], factor, term);
  }
  V sum(0.0f);
  SACCADE_UNROLL for (size_t i = 0; i < kChains; ++i) sum = sum + chain[i];
  store<Arch>(args.sink, sum);
  *args.flops = 2.0 * static_cast<double>(args.iterations) * static_cast<double>(kChains * kLanes<Arch>);
}

}  // namespace
}  // namespace saccade::kernels
