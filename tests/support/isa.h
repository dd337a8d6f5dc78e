// The ISA under test and its kernels; see isa_main.cc.
#pragma once

#include <string>

#include "kernels/kernels.h"

namespace saccade::test {
kernels::Isa isa();
const kernels::KernelTable& table();
}  // namespace saccade::test
