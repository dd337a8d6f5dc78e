// saccade::openmp: an executor on the OpenMP runtime that the program already uses. Always a shared library that is never
// unloaded.
#pragma once

#include <memory>

#include "saccade/executor.h"

namespace saccade {
inline namespace v0 {

// One parallel region per run, with the team size fixed here (0: see machine.h). OpenMP settings of the process are not changed.
// In a forked child, where libgomp would hang, it falls back to the library's own pool.
SACCADE_EXPORT Result<std::shared_ptr<Executor>> openmp_executor(int threads = 0);

}  // namespace v0
}  // namespace saccade
