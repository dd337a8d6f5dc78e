// Kernels for avx512. Flags come from cmake/isa.cmake. No std containers or algorithms, iostream or OpenMP here: their inline functions
// would be compiled with these flags and could be picked for the whole program.
#define SACCADE_ISA Isa::kAvx512
#define SACCADE_ARCH Avx512
#define SACCADE_TABLE kernel_table_avx512
#include "kernels/generic/instantiate.inc"
