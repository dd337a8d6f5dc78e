#pragma once

#include <vector>

#include "kernels/kernels.h"

namespace saccade::reference {

// y[r] = sum over t of table[t][ids[t][r]]
inline std::vector<double> embedding(const kernels::EmbeddingArgs& args) {
  std::vector<double> y(args.rows * args.width, 0.0);
  for (size_t r = 0; r < args.rows; ++r) {
    for (size_t t = 0; t < args.tables; ++t) {
      const float* row = args.table[t] + static_cast<size_t>(args.ids[t][r]) * args.table_stride[t];
      for (size_t j = 0; j < args.width; ++j) y[r * args.width + j] += static_cast<double>(row[j]);
    }
  }
  return y;
}

}  // namespace saccade::reference
