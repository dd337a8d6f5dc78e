// How functions inside the library report failure: they throw a Failure, and each public entry turns it into its Status, once.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "saccade/status.h"

namespace saccade {
inline namespace v0 {

struct Failure {
  Status status;
};

inline void append(std::string& to, std::string_view part) { to += part; }
template <std::integral T>
void append(std::string& to, T part) {
  to += std::to_string(part);
}
inline void append(std::string& to, float part) {  // as short as reads back the same; independent of the locale
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), part);
  to.append(digits, end.ptr);
}

// The parts of a message, one after the other.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

template <class... Parts>
[[noreturn]] void fail(Code code, const Parts&... parts) {
  throw Failure{Status(code, text(parts...))};
}
// Fails with invalid_argument unless the condition holds.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]]
    fail(Code::kInvalidArgument, parts...);
}

// The value of a Result, or its Status as a Failure.
template <class T>
T take(Result<T> result) {
  if (!result.ok()) throw Failure{result.status()};
  return *std::move(result);
}

// Runs f and returns what it threw as a Status. The messages here fit a string without memory of its own.
template <class F>
Status caught(F&& f) noexcept {
  try {
    f();
    return {};
  } catch (Failure& failure) {
    return std::move(failure.status);
  } catch (const std::bad_alloc&) {
    return {Code::kResourceExhausted, "out of memory"};
  } catch (const std::length_error&) {  // a vector over its largest size
    return {Code::kResourceExhausted, "out of memory"};
  } catch (...) {  // of the caller's own, from an executor or a callback
    return {Code::kInternal, "exception"};
  }
}

// a * b, or false when it does not fit.
inline bool multiply(int64_t a, int64_t b, int64_t& product) { return !__builtin_mul_overflow(a, b, &product); }
// Whether the product of all (none negative) fits in int64_t.
inline bool product_fits(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (int64_t factor : factors) {
    if (factor == 0) return true;
  }
  for (int64_t factor : factors) {
    if (!multiply(product, factor, product)) return false;
  }
  return true;
}

}  // namespace v0
}  // namespace saccade
