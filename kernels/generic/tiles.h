// Tile sizes of each architecture: constants of the ISA, because the key tile and the panel widths decide the order of sums.
#pragma once

#include "kernels/generic/vec.h"

namespace saccade::kernels {
namespace {

// mr x nr accumulators + nr/vector weight registers + 1 broadcast fit the register file; at least latency x ports (8 to 10)
// independent FMAs are in flight.
template <class Arch>
struct Tiles;

#if defined(__AVX512F__)
template <>
struct Tiles<Avx512> {  // 32 registers: 28 + 2 + 1 (broadcast from memory)
  static constexpr size_t mr = 14, nr = 32, key_panel = 32, key_tile = 512, query_tile = 28;
};
#elif defined(__AVX2__)
template <>
struct Tiles<Avx2> {  // 16 registers: 12 + 2 + 1
  static constexpr size_t mr = 6, nr = 16, key_panel = 16, key_tile = 512, query_tile = 24;
};
#elif defined(__SSE2__)
template <>
struct Tiles<Sse2> {  // 16 registers: 8 + 2 + 1 (+ 1 for the product)
  static constexpr size_t mr = 4, nr = 8, key_panel = 8, key_tile = 512, query_tile = 16;
};
#elif defined(__ARM_NEON)
template <>
struct Tiles<Neon> {  // 32 registers: 24 + 3 + 2; attention 8 x 8: 16 + 2 + 2
  static constexpr size_t mr = 8, nr = 12, key_panel = 8, key_tile = 512, query_tile = 16;
};
#endif

}  // namespace
}  // namespace saccade::kernels
