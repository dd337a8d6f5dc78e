// Counts every operator new of the process, the libraries' included. Include it in one source file of a binary.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace saccade::test {
inline std::atomic<int64_t> allocation_count{0};
inline int64_t allocations() { return allocation_count.load(); }
inline void* count_and_try(size_t size, size_t alignment) {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
inline void* count_and_allocate(size_t size, size_t alignment) {
  void* at = count_and_try(size, alignment);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}
}  // namespace saccade::test

// Every form, so that no form of a sanitizer or of the library meets ours. Not inlined: GCC would pair new with free, and warn.
#define SACCADE_NEW(brackets)                                                                                              \
  [[gnu::noinline]] void* operator new brackets(size_t size) { return saccade::test::count_and_allocate(size, 1); }        \
  [[gnu::noinline]] void* operator new brackets(size_t size, std::align_val_t alignment) {                                 \
    return saccade::test::count_and_allocate(size, static_cast<size_t>(alignment));                                        \
  }                                                                                                                        \
  [[gnu::noinline]] void* operator new brackets(size_t size, const std::nothrow_t&) noexcept {                             \
    return saccade::test::count_and_try(size, 1);                                                                          \
  }                                                                                                                        \
  [[gnu::noinline]] void* operator new brackets(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept { \
    return saccade::test::count_and_try(size, static_cast<size_t>(alignment));                                             \
  }                                                                                                                        \
  [[gnu::noinline]] void operator delete brackets(void* at) noexcept { std::free(at); }                                    \
  [[gnu::noinline]] void operator delete brackets(void* at, size_t) noexcept { std::free(at); }                            \
  [[gnu::noinline]] void operator delete brackets(void* at, std::align_val_t) noexcept { std::free(at); }                  \
  [[gnu::noinline]] void operator delete brackets(void* at, size_t, std::align_val_t) noexcept { std::free(at); }          \
  [[gnu::noinline]] void operator delete brackets(void* at, const std::nothrow_t&) noexcept { std::free(at); }             \
  [[gnu::noinline]] void operator delete brackets(void* at, std::align_val_t, const std::nothrow_t&) noexcept { std::free(at); }
SACCADE_NEW()
SACCADE_NEW([])
#undef SACCADE_NEW
