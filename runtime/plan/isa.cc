#include "runtime/plan/isa.h"

#include <cstdlib>
#include <string>

#include "runtime/graph/check.h"

namespace saccade {
inline namespace v0 {
namespace {

std::string available_isas() {
  std::string list;
  for (kernels::Isa isa : kernels::kAllIsas) {
    if ((kernels::built_isas() & kernels::supported_isas() & kernels::bit(isa)) == 0) continue;
    if (!list.empty()) list += ", ";
    list += kernels::name(isa);
  }
  return list;
}

}  // namespace

const kernels::KernelTable& resolve_isa(std::string_view requested) {
  std::string_view source = "isa";
  if (requested.empty()) {
    const char* forced = std::getenv("SACCADE_FORCE_ISA");
    if (forced != nullptr) requested = forced, source = "SACCADE_FORCE_ISA";
  }
  kernels::Isa isa = kernels::Isa::kSse2;
  switch (kernels::select(kernels::built_isas(), kernels::supported_isas(), requested, isa)) {
    case kernels::Choice::kOk:
      break;
    case kernels::Choice::kUnknownName:
      fail(Code::kInvalidArgument, source, ": expected one of sse2, avx2, avx512, neon, got '", requested, "'");
    case kernels::Choice::kNotBuilt:
      fail(Code::kUnsupported, source, ": ", requested, " is not in this build; available: ", available_isas());
    case kernels::Choice::kNotSupported:
      fail(Code::kUnsupported, source, ": this CPU does not support ", requested.empty() ? "any built ISA" : requested,
           "; available: ", available_isas());
  }
  return *kernels::table_for(isa);
}

}  // namespace v0
}  // namespace saccade
