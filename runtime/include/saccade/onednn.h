// saccade::onednn: oneDNN's f32 matrix product as the linear backend of a plan. Its own library, because oneDNN brings an OpenMP
// runtime.
#pragma once

#include <memory>

#include "saccade/linear_backend.h"

namespace saccade {
inline namespace v0 {

SACCADE_EXPORT Result<std::shared_ptr<LinearBackend>> onednn_backend();
SACCADE_EXPORT const char* onednn_version() noexcept;  // "2.6.3"

}  // namespace v0
}  // namespace saccade
