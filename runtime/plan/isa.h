// The ISA of plans and of attention().
#pragma once

#include <string_view>

#include "kernels/kernels.h"

namespace saccade {
inline namespace v0 {

// Kernels of `requested`, or where that is empty of SACCADE_FORCE_ISA, or the best that is built and supported. Fails (check.h)
// with unsupported for an ISA that is not available, naming those that are, and with invalid_argument for an unknown name.
const kernels::KernelTable& resolve_isa(std::string_view requested);

}  // namespace v0
}  // namespace saccade
