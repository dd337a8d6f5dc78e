#include "saccade/status.h"

#include "saccade/version.h"

namespace saccade {
inline namespace v0 {

const char* code_name(Code code) noexcept {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kInvalidArgument:
      return "invalid_argument";
    case Code::kOutOfRange:
      return "out_of_range";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kNotFound:
      return "not_found";
    case Code::kCorruptData:
      return "corrupt_data";
    case Code::kResourceExhausted:
      return "resource_exhausted";
    case Code::kCancelled:
      return "cancelled";
    case Code::kInternal:
      return "internal";
  }
  return "unknown";
}

std::string Status::to_string() const {
  std::string text = code_name(code_);
  if (!message_.empty()) text.append(": ").append(message_);
  return text;
}

const char* version() noexcept { return SACCADE_VERSION; }

}  // namespace v0
}  // namespace saccade
