// Kernels for neon. Flags come from cmake/isa.cmake. No std containers or algorithms, iostream or OpenMP here: their inline functions
// would be compiled with these flags and could be picked for the whole program.
#define SACCADE_ISA Isa::kNeon
#define SACCADE_ARCH Neon
#define SACCADE_TABLE kernel_table_neon
#include "kernels/generic/instantiate.inc"
