// Which instruction sets exist, which are built, which this CPU has, and which one is used.
// The rows come from cmake/isa.cmake; choosing is a pure function, so tests can pass any sets.
#pragma once

#include <cstdint>
#include <string_view>

namespace saccade::kernels {

enum class Isa : uint8_t { kSse2, kAvx2, kAvx512, kNeon };
inline constexpr Isa kAllIsas[] = {Isa::kSse2, Isa::kAvx2, Isa::kAvx512, Isa::kNeon};

// "sse2", "avx2", "avx512", "neon".
std::string_view name(Isa isa);
// The ISA of that name; false when there is none.
bool parse_isa(std::string_view text, Isa& isa);

// A set of ISAs, one bit each.
using IsaSet = uint32_t;
constexpr IsaSet bit(Isa isa) { return IsaSet{1} << static_cast<unsigned>(isa); }

IsaSet built_isas();      // compiled into this binary
IsaSet supported_isas();  // CPU and operating system can run them (built or not)

enum class Choice : uint8_t { kOk, kUnknownName, kNotBuilt, kNotSupported };

// The best of built & supported, or the one that `forced` names ("" = none forced). A forced ISA that is unknown,
// not built or not supported is an error and never a fallback.
Choice select(IsaSet built, IsaSet supported, std::string_view forced, Isa& chosen);

// Vector registers' floating-point state of one thread: flush-to-zero and denormals-are-zero on, rounding to nearest, all
// exceptions masked. set returns what was there before; restore puts it back.
uint64_t set_float_state();
void restore_float_state(uint64_t state);

}  // namespace saccade::kernels
