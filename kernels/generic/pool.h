// One vector per sequence from its rows.
#pragma once

#include "kernels/generic/columns.h"
#include "kernels/kernels.h"

namespace saccade::kernels {
namespace {

// y = f(y, x[row]) for the rows [begin, end); y stays in L1 while the rows stream by.
template <class Arch, class F>
SACCADE_INLINE void fold_rows(const PoolArgs& args, int64_t begin, int64_t end, float* y, F f) {
  for (int64_t i = begin; i < end; ++i) {
    const float* x = args.x + static_cast<size_t>(i) * args.x_stride;
    for_columns<Arch>(0, args.width,
                      [&](size_t j, auto lanes) SACCADE_LAMBDA { lanes.store(y + j, f(lanes.load(y + j), lanes.load(x + j))); });
  }
}

template <class Arch>
void pool(const PoolArgs& args) {
  using V = Vec<float, Arch>;
  for (size_t s = 0; s < args.sequences; ++s) {
    float* y = args.y + s * args.y_stride;
    const int64_t begin = args.offsets[s], end = args.offsets[s + 1];
    if (begin == end) {
      for_columns<Arch>(0, args.width, [&](size_t j, auto lanes) SACCADE_LAMBDA { lanes.store(y + j, broadcast<Arch>(0.0f)); });
      continue;
    }
    const float* first = args.x + static_cast<size_t>(args.kind == Pool::kLast ? end - 1 : begin) * args.x_stride;
    for_columns<Arch>(0, args.width, [&](size_t j, auto lanes) SACCADE_LAMBDA { lanes.store(y + j, lanes.load(first + j)); });
    if (args.kind == Pool::kMax) {
      fold_rows<Arch>(args, begin + 1, end, y, [](V a, V b) SACCADE_LAMBDA { return max_keep_nan<Arch>(a, b); });
    }
    if (args.kind == Pool::kMean) {
      fold_rows<Arch>(args, begin + 1, end, y, [](V a, V b) SACCADE_LAMBDA { return a + b; });
      const V count = broadcast<Arch>(static_cast<float>(end - begin));
      for_columns<Arch>(0, args.width,
                        [&](size_t j, auto lanes) SACCADE_LAMBDA { lanes.store(y + j, divide<Arch>(lanes.load(y + j), count)); });
    }
  }
}

}  // namespace
}  // namespace saccade::kernels
