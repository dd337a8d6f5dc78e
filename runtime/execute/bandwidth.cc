// What this machine can do at best: FMA peak of an ISA and memory bandwidth, one thread.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "kernels/kernels.h"
#include "runtime/graph/check.h"
#include "runtime/plan/isa.h"
#include "saccade/machine.h"

namespace saccade {
inline namespace v0 {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Anonymous memory from a 2 MiB boundary on, in huge pages where they can be had: with small pages a stream runs at two thirds.
class Buffer {
 public:
  explicit Buffer(size_t bytes) : mapped_(bytes + kHuge) {
    base_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) return;
    data_ = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(base_) + kHuge - 1) / kHuge * kHuge);
#if defined(MADV_HUGEPAGE)
    (void)madvise(data_, bytes, MADV_HUGEPAGE);
#endif
    std::memset(data_, 1, bytes);  // pages exist before the clock runs
  }
  ~Buffer() {
    if (data_ != nullptr) munmap(base_, mapped_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  char* data() const { return data_; }

 private:
  static constexpr size_t kHuge = size_t{2} << 20;
  size_t mapped_;
  void* base_;
  char* data_ = nullptr;
};

// Sum of 16-byte vectors on 8 accumulators: 128 bytes per step, so the adds are never what is waited for.
uint64_t sum(const char* data, size_t bytes) {
  typedef uint64_t Vector __attribute__((vector_size(16)));
  constexpr size_t kVectors = 8;
  Vector total[kVectors] = {};
  for (size_t i = 0; i + sizeof(total) <= bytes; i += sizeof(total)) {
    for (size_t v = 0; v < kVectors; ++v) {
      Vector x;
      std::memcpy(&x, data + i + v * sizeof(x), sizeof(x));
      total[v] += x;
    }
  }
  uint64_t result = 0;
  for (const Vector& t : total) result += t[0] + t[1];
  return result;
}

double peak(const kernels::KernelTable& table, int samples) {
  alignas(64) float sink[64];
  double flops = 0;
  const auto time = [&](size_t iterations) {
    const auto start = Clock::now();
    table.fma_chains({.iterations = iterations, .sink = sink, .flops = &flops});
    return seconds_since(start);
  };
  // Iterations for 10 ms, from a run long enough to be timed; it also brings the clock of the core up.
  constexpr double kSample = 0.010;
  size_t iterations = 1 << 12;
  double seconds = time(iterations);
  while (seconds < kSample / 4 && iterations < (size_t{1} << 40)) seconds = time(iterations *= 2);
  iterations = std::max<size_t>(1, static_cast<size_t>(static_cast<double>(iterations) * kSample / seconds));
  double best = 0;
  for (int i = 0; i < samples; ++i) {
    seconds = time(iterations);
    best = std::max(best, flops / seconds);
  }
  return best * 1e-9;
}

}  // namespace

Result<double> measure_peak(const std::string& isa, int samples) {
  double best = 0;
  Status status = caught([&] {
    require(samples >= 1, "measure_peak: samples: expected at least 1, got ", samples);
    best = peak(resolve_isa(isa), samples);
  });
  if (!status.ok()) return status;
  return best;
}

Result<Bandwidth> measure_bandwidth(int64_t bytes, int samples) {
  constexpr int64_t kLeast = 4096;
  if (bytes < kLeast || bytes > (int64_t{1} << 40)) {
    return Status(Code::kInvalidArgument, "measure_bandwidth: bytes: expected 4096 to 2^40, got " + std::to_string(bytes));
  }
  if (samples < 1) {
    return Status(Code::kInvalidArgument, "measure_bandwidth: samples: expected at least 1, got " + std::to_string(samples));
  }
  const size_t half = static_cast<size_t>(bytes) / 256 * 128, size = 2 * half;
  const Buffer buffer(size);
  if (buffer.data() == nullptr)
    return Status(Code::kResourceExhausted, "measure_bandwidth: no memory for " + std::to_string(bytes) + " bytes");
  // Short buffers are passed over until a sample has moved 16 MiB, some milliseconds of work.
  const size_t passes = std::max<size_t>(1, (size_t{16} << 20) / size);
  Bandwidth best;
  for (int i = 0; i <= samples; ++i) {  // the first one warms up
    auto start = Clock::now();
    for (size_t pass = 0; pass < passes; ++pass) {
      volatile uint64_t keep = sum(buffer.data(), size);
      (void)keep;
    }
    const double read = seconds_since(start);
    start = Clock::now();
    // To and fro, so that neither half stays the only one that was written. A large memcpy writes past the caches.
    for (size_t pass = 0; pass < passes; ++pass) {
      const size_t from = (pass + static_cast<size_t>(i)) % 2 * half;
      std::memcpy(buffer.data() + (half - from), buffer.data() + from, half);
      __asm__ volatile("" : : "r"(buffer.data()) : "memory");
    }
    const double copy = seconds_since(start);
    if (i == 0) continue;
    const double moved = 1e-9 * static_cast<double>(size) * static_cast<double>(passes);  // copy: half read, half written
    best.read_gbs = std::max(best.read_gbs, moved / read);
    best.copy_gbs = std::max(best.copy_gbs, moved / copy);
  }
  return best;
}

}  // namespace v0
}  // namespace saccade
