// Memory that ends at a page without access, so that a read or write one element past the end faults.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

namespace saccade::test {

// Uninitialised `count` elements whose last one touches a guard page. Floats start as NaN, everything else as bytes 0xff.
template <class T>
class Guarded {
 public:
  explicit Guarded(size_t count) : count_(count) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t body = (count * sizeof(T) + page - 1) / page * page;
    bytes_ = body + page;
    base_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) std::abort();
    if (mprotect(static_cast<char*>(base_) + body, page, PROT_NONE) != 0) std::abort();
    std::memset(base_, 0xff, body);
    data_ = reinterpret_cast<T*>(static_cast<char*>(base_) + body - count * sizeof(T));
  }
  ~Guarded() {
    if (base_ != nullptr) munmap(base_, bytes_);
  }
  Guarded(Guarded&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_), data_(other.data_), count_(other.count_) {}
  Guarded& operator=(Guarded&&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return count_; }
  T* begin() { return data_; }
  T* end() { return data_ + count_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + count_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  void* base_ = nullptr;
  size_t bytes_ = 0;
  T* data_ = nullptr;
  size_t count_ = 0;
};

}  // namespace saccade::test
