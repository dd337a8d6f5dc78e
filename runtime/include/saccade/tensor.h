// Views of the caller's memory. Nothing here owns or copies floats; any alignment is accepted, and any stride >= width.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "saccade/export.h"

namespace saccade {
inline namespace v0 {

enum class Dtype : uint8_t { kF32, kF16, kBf16, kI32, kI64 };

// "f32", "f16", "bf16", "i32", "i64".
SACCADE_EXPORT const char* name(Dtype dtype) noexcept;
constexpr int64_t size_of(Dtype dtype) { return dtype == Dtype::kI64 ? 8 : dtype == Dtype::kF32 || dtype == Dtype::kI32 ? 4 : 2; }

// [rows, width] with `stride` elements from row to row; stride 0 stands for width.
struct ConstMatrix {
  const void* data = nullptr;
  Dtype dtype = Dtype::kF32;
  int64_t rows = 0;
  int64_t width = 0;
  int64_t stride = 0;

  ConstMatrix() = default;
  ConstMatrix(const float* data, int64_t rows, int64_t width, int64_t stride = 0)
      : data(data), dtype(Dtype::kF32), rows(rows), width(width), stride(stride) {}
  // A column of ids.
  ConstMatrix(const int32_t* ids, int64_t rows) : data(ids), dtype(Dtype::kI32), rows(rows), width(1) {}
  ConstMatrix(const int64_t* ids, int64_t rows) : data(ids), dtype(Dtype::kI64), rows(rows), width(1) {}
};

struct Matrix {
  float* data = nullptr;
  int64_t rows = 0;
  int64_t width = 0;
  int64_t stride = 0;

  Matrix() = default;
  Matrix(float* data, int64_t rows, int64_t width, int64_t stride = 0) : data(data), rows(rows), width(width), stride(stride) {}
  operator ConstMatrix() const { return {data, rows, width, stride}; }
};

// How a weight lies in memory: kInOut is [in][out] (y = x W), kOutIn is [out][in] (PyTorch's nn.Linear).
enum class Layout : uint8_t { kInOut, kOutIn };

// The matrix of a linear op; f32, f16 or bf16. Without an owner the memory must live as long as plans may be compiled from the
// graph.
struct Weight {
  const void* data = nullptr;
  Dtype dtype = Dtype::kF32;
  int64_t in = 0;
  int64_t out = 0;
  Layout layout;
  int64_t stride = 0;  // elements from row to row of the stored matrix; 0: dense
  std::shared_ptr<const void> owner;
  std::string name;  // for messages

  Weight(const void* data, Dtype dtype, int64_t in, int64_t out, Layout layout, int64_t stride = 0,
         std::shared_ptr<const void> owner = nullptr, std::string name = {})
      : data(data),
        dtype(dtype),
        in(in),
        out(out),
        layout(layout),
        stride(stride),
        owner(std::move(owner)),
        name(std::move(name)) {}
  Weight(const float* data, int64_t in, int64_t out, Layout layout) : Weight(data, Dtype::kF32, in, out, layout) {}
};

// A bias, gain or table of slopes: `size` numbers, f32, f16 or bf16. Copied when the graph is built. Empty means none.
struct Vector {
  const void* data = nullptr;
  Dtype dtype = Dtype::kF32;
  int64_t size = 0;
  std::string name;

  Vector() = default;
  Vector(const void* data, Dtype dtype, int64_t size, std::string name = {})
      : data(data), dtype(dtype), size(size), name(std::move(name)) {}
  Vector(const float* data, int64_t size) : Vector(data, Dtype::kF32, size) {}
};

// An embedding table [rows, width], f32, f16 or bf16. It is read in place (16-bit tables are widened once, at compile) and keeps
// its owner.
struct Table {
  const void* data = nullptr;
  Dtype dtype = Dtype::kF32;
  int64_t rows = 0;
  int64_t width = 0;
  int64_t stride = 0;
  std::shared_ptr<const void> owner;
  std::string name;

  Table() = default;
  Table(const void* data, Dtype dtype, int64_t rows, int64_t width, int64_t stride = 0,
        std::shared_ptr<const void> owner = nullptr, std::string name = {})
      : data(data), dtype(dtype), rows(rows), width(width), stride(stride), owner(std::move(owner)), name(std::move(name)) {}
  Table(const float* data, int64_t rows, int64_t width) : Table(data, Dtype::kF32, rows, width) {}
};

}  // namespace v0
}  // namespace saccade
