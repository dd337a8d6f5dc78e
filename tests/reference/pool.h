#pragma once

#include <cmath>
#include <vector>

#include "kernels/kernels.h"

namespace saccade::reference {

// Mean, first, last or largest of the rows offsets[s] .. offsets[s + 1]; zeros where there are none. NaN is the largest of all.
inline std::vector<double> pool(const kernels::PoolArgs& args) {
  std::vector<double> y(args.sequences * args.width, 0.0);
  for (size_t s = 0; s < args.sequences; ++s) {
    const int64_t begin = args.offsets[s], end = args.offsets[s + 1];
    for (size_t j = 0; j < args.width && begin < end; ++j) {
      const auto x = [&](int64_t i) { return static_cast<double>(args.x[static_cast<size_t>(i) * args.x_stride + j]); };
      double v = args.kind == kernels::Pool::kLast ? x(end - 1) : x(begin);
      for (int64_t i = begin + 1; i < end; ++i) {
        if (args.kind == kernels::Pool::kMean) v += x(i);
        if (args.kind == kernels::Pool::kMax && !std::isnan(v) && !(x(i) <= v)) v = x(i);
      }
      y[s * args.width + j] = args.kind == kernels::Pool::kMean ? v / static_cast<double>(end - begin) : v;
    }
  }
  return y;
}

}  // namespace saccade::reference
