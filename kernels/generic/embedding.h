// Sum of embedding rows.
#pragma once

#include "kernels/generic/columns.h"
#include "kernels/kernels.h"

namespace saccade::kernels {
namespace {

template <class Arch>
void embedding(const EmbeddingArgs& args) {
  for (size_t r = 0; r < args.rows; ++r) {
    float* y = args.y + r * args.y_stride;
    const float* row[EmbeddingArgs::kMaxTables] = {};
    for (size_t t = 0; t < args.tables; ++t) row[t] = args.table[t] + static_cast<size_t>(args.ids[t][r]) * args.table_stride[t];
    for_columns<Arch>(0, args.width, [&](size_t j, auto lanes) SACCADE_LAMBDA {
      Vec<float, Arch> sum = args.tables == 0 ? broadcast<Arch>(0.0f) : lanes.load(row[0] + j);
      for (size_t t = 1; t < args.tables; ++t) sum = sum + lanes.load(row[t] + j);
      lanes.store(y + j, sum);
    });
  }
}

}  // namespace
}  // namespace saccade::kernels
