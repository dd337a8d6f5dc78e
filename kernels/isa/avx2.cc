// Kernels for avx2. Flags come from cmake/isa.cmake. No std containers or algorithms, iostream or OpenMP here: their inline functions
// would be compiled with these flags and could be picked for the whole program.
#define SACCADE_ISA Isa::kAvx2
#define SACCADE_ARCH Avx2
#define SACCADE_TABLE kernel_table_avx2
#include "kernels/generic/instantiate.inc"
