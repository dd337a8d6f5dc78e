// Scratch memory that grows and is reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace saccade {
inline namespace v0 {

// One block of bytes, aligned to 64 or, from 2 MiB on, to 2 MiB and advised for huge pages (not getting them is no error). Its
// pages come from the system when they are first written, by whichever thread does.
class AlignedBlock {
 public:
  AlignedBlock() = default;
  ~AlignedBlock() { release(); }
  AlignedBlock(AlignedBlock&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  AlignedBlock& operator=(AlignedBlock&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  // Makes the block at least `bytes` long. What it held is lost when it grows. False, and an empty block, when there is no
  // memory.
  [[nodiscard]] bool reserve(size_t bytes);
  void release();

  void* data() const { return data_; }
  float* floats() const { return static_cast<float*>(data_); }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;  // a multiple of the page size
};

}  // namespace v0
}  // namespace saccade
