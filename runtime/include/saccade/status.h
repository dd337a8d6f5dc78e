// How every call reports failure: no exception crosses this API, nothing aborts, nothing prints.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "saccade/export.h"

namespace saccade {
inline namespace v0 {

enum class Code : int {
  kOk = 0,
  kInvalidArgument,    // a shape, name, pointer or option that cannot be right
  kOutOfRange,         // an index or id outside its table, a length over its limit
  kUnsupported,        // valid, but not with this build, CPU, backend or plan
  kNotFound,           // a file, tensor or name that is not there
  kCorruptData,        // file contents that contradict themselves
  kResourceExhausted,  // memory or threads that could not be had
  kCancelled,          // the caller's stop flag was seen
  kInternal,           // our mistake
};

// "ok", "invalid_argument", ...
SACCADE_EXPORT const char* code_name(Code code) noexcept;

// A code and, unless ok, a message that names the op, the argument, what was expected and what came.
class [[nodiscard]] SACCADE_EXPORT Status {
 public:
  Status() noexcept = default;
  Status(Code code, std::string message) noexcept : code_(code), message_(std::move(message)) {}

  bool ok() const noexcept { return code_ == Code::kOk; }
  Code code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  std::string to_string() const;  // "invalid_argument: linear: ..."

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

// A T, or the Status that says why there is none. Dereferencing a failed Result is the caller's mistake.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  const Status& status() const noexcept { return status_; }

  T& operator*() & noexcept { return *value_; }
  const T& operator*() const& noexcept { return *value_; }
  T&& operator*() && noexcept { return *std::move(value_); }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace v0
}  // namespace saccade
