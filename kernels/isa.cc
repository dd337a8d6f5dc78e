#include "kernels/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <xmmintrin.h>
#endif

namespace saccade::kernels {
namespace {

// Feature bits named in cmake/isa.cmake.
enum Feature : uint32_t {
  kSse2 = 1u << 0,
  kAvx2 = 1u << 1,
  kFma = 1u << 2,
  kAvx512f = 1u << 3,
  kAvx512bw = 1u << 4,
  kAvx512dq = 1u << 5,
  kAvx512vl = 1u << 6,
  kNeon = 1u << 7,
};

struct Machine {
  uint32_t features = 0;
  uint64_t saved_state = 0;  // XCR0: register state that the operating system saves
};

#if defined(__x86_64__)
uint64_t read_xcr0() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

Machine detect() {
  Machine machine;
  machine.features = kSse2;  // part of x86-64
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return machine;
  if ((c & bit_FMA) != 0) machine.features |= kFma;
  if ((c & bit_OSXSAVE) != 0) machine.saved_state = read_xcr0();
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return machine;
  if ((b & bit_AVX2) != 0) machine.features |= kAvx2;
  if ((b & bit_AVX512F) != 0) machine.features |= kAvx512f;
  if ((b & bit_AVX512BW) != 0) machine.features |= kAvx512bw;
  if ((b & bit_AVX512DQ) != 0) machine.features |= kAvx512dq;
  if ((b & bit_AVX512VL) != 0) machine.features |= kAvx512vl;
  return machine;
}
#elif defined(__aarch64__)
Machine detect() { return {.features = kNeon, .saved_state = 0}; }  // part of AArch64
#else
Machine detect() { return {}; }
#endif

constexpr std::string_view kNames[] = {"sse2", "avx2", "avx512", "neon"};

constexpr Isa isa_of(std::string_view text) {
  for (Isa isa : kAllIsas) {
    if (kNames[static_cast<unsigned>(isa)] == text) return isa;
  }
  return Isa::kSse2;
}

struct Row {
  Isa isa;
  uint32_t features;
  uint64_t saved_state;
};

constexpr Row kRows[] = {
#define SACCADE_ISA_ROW(name, arch, features, saved_state) {isa_of(#name), features, saved_state},
#include "kernels/isa_rows.inc"
#undef SACCADE_ISA_ROW
};

}  // namespace

std::string_view name(Isa isa) { return kNames[static_cast<unsigned>(isa)]; }

bool parse_isa(std::string_view text, Isa& isa) {
  for (Isa candidate : kAllIsas) {
    if (name(candidate) == text) {
      isa = candidate;
      return true;
    }
  }
  return false;
}

IsaSet built_isas() {
  IsaSet set = 0;
  for (const Row& row : kRows) set |= bit(row.isa);
  return set;
}

IsaSet supported_isas() {
  const Machine machine = detect();
  IsaSet set = 0;
  for (const Row& row : kRows) {
    const bool cpu = (machine.features & row.features) == row.features;
    const bool os = (machine.saved_state & row.saved_state) == row.saved_state;
    if (cpu && os) set |= bit(row.isa);
  }
  return set;
}

Choice select(IsaSet built, IsaSet supported, std::string_view forced, Isa& chosen) {
  if (!forced.empty()) {
    Isa isa;
    if (!parse_isa(forced, isa)) return Choice::kUnknownName;
    if ((built & bit(isa)) == 0) return Choice::kNotBuilt;
    if ((supported & bit(isa)) == 0) return Choice::kNotSupported;
    chosen = isa;
    return Choice::kOk;
  }
  Choice choice = Choice::kNotSupported;
  for (Isa isa : kAllIsas) {
    if ((built & supported & bit(isa)) == 0) continue;
    chosen = isa;
    choice = Choice::kOk;
  }
  return choice;
}

#if defined(__x86_64__)
uint64_t set_float_state() {
  const uint32_t before = _mm_getcsr();
  _mm_setcsr(0x9fc0);  // FTZ | DAZ | all exceptions masked, round to nearest
  return before;
}
void restore_float_state(uint64_t state) { _mm_setcsr(static_cast<uint32_t>(state)); }
#elif defined(__aarch64__)
uint64_t set_float_state() {
  uint64_t before = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(before));
  __asm__ volatile("msr fpcr, %0" : : "r"(uint64_t{1} << 24));  // FZ, round to nearest
  return before;
}
void restore_float_state(uint64_t state) { __asm__ volatile("msr fpcr, %0" : : "r"(state)); }
#else
uint64_t set_float_state() { return 0; }
void restore_float_state(uint64_t) {}
#endif

}  // namespace saccade::kernels
