#include "kernels/kernels.h"

namespace saccade::kernels {

#define SACCADE_ISA_ROW(name, arch, features, saved_state) extern const KernelTable kernel_table_##name;
#include "kernels/isa_rows.inc"
#undef SACCADE_ISA_ROW

const KernelTable* table_for(Isa isa) {
#define SACCADE_ISA_ROW(name, arch, features, saved_state) \
  if (kernel_table_##name.isa == isa) return &kernel_table_##name;
#include "kernels/isa_rows.inc"
#undef SACCADE_ISA_ROW
  return nullptr;
}

}  // namespace saccade::kernels
