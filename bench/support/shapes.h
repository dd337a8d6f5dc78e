// Linears of real encoders: [k, n] of QKV, attention output, FFN up and FFN down.
#pragma once

#include <cstddef>

namespace saccade::bench {

struct LinearShape {
  size_t k, n;
};
inline constexpr LinearShape kMiniLm[] = {{384, 384}, {384, 1152}, {384, 1536}, {1536, 384}};
inline constexpr LinearShape kBertBase[] = {{768, 768}, {768, 2304}, {768, 3072}, {3072, 768}};

}  // namespace saccade::bench
