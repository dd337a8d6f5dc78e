#include "saccade/tensor.h"

namespace saccade {
inline namespace v0 {

const char* name(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::kF32:
      return "f32";
    case Dtype::kF16:
      return "f16";
    case Dtype::kBf16:
      return "bf16";
    case Dtype::kI32:
      return "i32";
    case Dtype::kI64:
      return "i64";
  }
  return "unknown";
}

}  // namespace v0
}  // namespace saccade
