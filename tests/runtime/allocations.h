// Counts every operator new of the process, the libraries' included. Include it in one source file of a binary.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace saccade::test {
inline std::atomic<int64_t> allocation_count{0};
inline int64_t allocations() { return allocation_count.load(); }
inline void* count_and_allocate(size_t size, size_t alignment) {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  void* at = alignment <= alignof(std::max_align_t)
                 ? std::malloc(size)
                 : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}
}  // namespace saccade::test

[[gnu::noinline]] void* operator new(size_t size) { return saccade::test::count_and_allocate(size, 1); }
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t alignment) {
  return saccade::test::count_and_allocate(size, static_cast<size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, size_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, size_t, std::align_val_t) noexcept { std::free(at); }
