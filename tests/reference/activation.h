#pragma once

#include <vector>

#include "tests/reference/math.h"

namespace saccade::reference {

// y = f(x)
inline std::vector<double> map(const kernels::MapArgs& args) {
  std::vector<double> y;
  for (size_t r = 0; r < args.rows; ++r) {
    for (size_t j = 0; j < args.width; ++j) y.push_back(unary(args.f, args.x[r * args.x_stride + j]));
  }
  return y;
}

// y = f(x) up
inline std::vector<double> gate(const kernels::GateArgs& args) {
  std::vector<double> y;
  for (size_t r = 0; r < args.rows; ++r) {
    for (size_t j = 0; j < args.width; ++j) {
      y.push_back(unary(args.f, args.x[r * args.x_stride + j]) * static_cast<double>(args.up[r * args.up_stride + j]));
    }
  }
  return y;
}

// y = a + b
inline std::vector<double> add(const kernels::AddArgs& args) {
  std::vector<double> y;
  for (size_t r = 0; r < args.rows; ++r) {
    for (size_t j = 0; j < args.width; ++j) {
      y.push_back(static_cast<double>(args.a[r * args.a_stride + j]) + static_cast<double>(args.b[r * args.b_stride + j]));
    }
  }
  return y;
}

}  // namespace saccade::reference
