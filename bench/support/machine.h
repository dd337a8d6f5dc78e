// What a figure is compared with: this core's FMA peak and read bandwidth, measured beside it; and memory as the runtime has it.
#pragma once

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>

#include "kernels/kernels.h"

namespace saccade::bench {

// Processor time of this thread: on a shared machine, what was spent waiting for a core is not ours.
inline double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Floats in a mapping of their own, 2 MiB aligned and advised for huge pages, where the runtime keeps weights and the arena.
class HugeBuffer {
 public:
  explicit HugeBuffer(size_t floats) {
    constexpr size_t huge = size_t{2} << 20;
    bytes_ = (floats * sizeof(float) + huge - 1) / huge * huge + huge;
    base_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) std::abort();
    data_ = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(base_) + huge - 1) / huge * huge);
    madvise(data_, bytes_ - huge, MADV_HUGEPAGE);
    std::memset(data_, 0, floats * sizeof(float));
  }
  ~HugeBuffer() { munmap(base_, bytes_); }
  HugeBuffer(const HugeBuffer&) = delete;
  HugeBuffer& operator=(const HugeBuffer&) = delete;
  float* data() { return data_; }

 private:
  void* base_;
  size_t bytes_;
  float* data_;
};

inline void fill_uniform(float* p, size_t count, uint32_t seed) {
  std::minstd_rand engine(seed);
  for (size_t i = 0; i < count; ++i) p[i] = static_cast<float>(engine()) * (2.0f / 2147483648.0f) - 1.0f;
}

// FLOP/s of independent FMA chains: the largest of `samples` of about `seconds` each.
inline double measure_peak(const kernels::KernelTable& table, int samples = 20, double seconds = 0.010) {
  alignas(64) float sink[64];
  double flops = 0, best = 0;
  size_t iterations = 10000;
  for (int sample = 0; sample < samples;) {
    const double begin = now();
    table.fma_chains({.iterations = iterations, .sink = sink, .flops = &flops});
    const double elapsed = now() - begin;
    if (elapsed < seconds * 0.7) {
      iterations =
          elapsed < seconds / 10 ? iterations * 4 : static_cast<size_t>(static_cast<double>(iterations) * seconds / elapsed) + 1;
      continue;
    }
    best = std::max(best, flops / elapsed);
    ++sample;
  }
  return best;
}

// One pass of plain loads over `count` floats, a multiple of 256, in `kStreams` places at once.
template <size_t kStreams>
inline float read_pass(const float* p, size_t count) {
  typedef float Four __attribute__((vector_size(16)));
  Four sum[8] = {};
  const size_t part = count / kStreams / 32 * 32;
  for (size_t i = 0; i < part; i += 32) {
    for (size_t s = 0; s < kStreams; ++s) {
      const Four* from = reinterpret_cast<const Four*>(p + s * part + i);
      for (size_t v = 0; v < 8; ++v) sum[v] += from[v];
    }
  }
  float total = 0;
  for (const Four& x : sum) total += x[0] + x[1] + x[2] + x[3];
  return total;
}

// Bytes/s of reading those floats: the best of `samples` passes with one stream and with four.
inline double measure_read_bandwidth(const float* p, size_t count, int samples = 4) {
  double best = 0;
  volatile float keep = 0;
  for (int sample = 0; sample < samples; ++sample) {
    const double begin = now();
    keep = keep + read_pass<1>(p, count);
    const double middle = now();
    keep = keep + read_pass<4>(p, count);
    const double end = now();
    best = std::max(best, static_cast<double>(count) * sizeof(float) / std::min(middle - begin, end - middle));
  }
  return best;
}

}  // namespace saccade::bench
