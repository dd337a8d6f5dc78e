// Hooks for profilers: one event per step and worker of a run; where steps run as a chain (see Plan::describe), one per step and
// block of rows.
#pragma once

#include <cstdint>

#include "saccade/export.h"

namespace saccade {
inline namespace v0 {

struct TraceEvent {
  int32_t step = 0;       // index in Plan::describe()
  const char* name = "";  // of the step; lives as long as the plan
  int32_t worker = 0;     // [0, threads)
  int64_t begin_ns = 0;   // steady clock
  int64_t end_ns = 0;
  int64_t tiles = 0;  // pieces of work this worker took; 1 in a chain
};

class SACCADE_EXPORT Trace {
 public:
  virtual ~Trace() = default;
  // Called by worker threads during the run; never twice at once for one worker.
  virtual void event(const TraceEvent& event) noexcept = 0;
};

}  // namespace v0
}  // namespace saccade
