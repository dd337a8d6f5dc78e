# The one table of instruction sets. A new ISA is one row here and one ten-line file kernels/isa/<name>.cc.
#
# saccade_isa(NAME PROCESSOR ARCH FLAGS CPU OS)
#   NAME       the name users see, the file in kernels/isa/ and the suffix of its kernel table
#   PROCESSOR  regex on CMAKE_SYSTEM_PROCESSOR: where the row is built
#   ARCH       the architecture type, an alias in kernels/generic/vec.h
#   FLAGS      compiler flags of that one file, negative ones included, so that it cannot use more than its name says
#   CPU        feature bits that must be reported by the CPU (names known to kernels/isa.cc)
#   OS         register state that the operating system must save (XCR0 bits; 0 = none)
# Rows go from the least to the most capable; detection picks the last one that is built and supported.
set(SACCADE_SKIP_ISAS "" CACHE STRING "ISAs to leave out, separated by semicolons")
set(SACCADE_ISAS)
set(SACCADE_ISA_ROWS "")
set(SACCADE_ALL_ISAS)
function(saccade_isa name processor arch flags cpu os)
  set(SACCADE_ALL_ISAS ${SACCADE_ALL_ISAS} ${name} PARENT_SCOPE)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "${processor}" OR name IN_LIST SACCADE_SKIP_ISAS)
    return()
  endif()
  set(SACCADE_ISAS ${SACCADE_ISAS} ${name} PARENT_SCOPE)
  set(SACCADE_ISA_FLAGS_${name} "${flags}" PARENT_SCOPE)
  string(REPLACE ";" " | k" cpu_bits "${cpu}")
  set(row "SACCADE_ISA_ROW(${name}, ${arch}, k${cpu_bits}, ${os})\n")
  set(SACCADE_ISA_ROWS "${SACCADE_ISA_ROWS}${row}" PARENT_SCOPE)
endfunction()

#           name   processor               arch       flags                                                          CPU bits                            OS
# SSE2: every x86-64 CPU (2003).
saccade_isa(sse2   "x86_64|AMD64"          "Sse2"            "-msse2;-mno-sse3;-mno-avx"                                    "Sse2"                              0x0)
# AVX2 + FMA: Haswell (2013), Zen (2017) and later.
saccade_isa(avx2   "x86_64|AMD64"          "Avx2" "-mavx2;-mfma;-mno-avx512f"                                  "Avx2;Fma"                          0x6)
# AVX-512 F/BW/DQ/VL: Skylake-SP (2017), Zen 4 (2022) and later.
saccade_isa(avx512 "x86_64|AMD64"          "Avx512"        "-mavx512f;-mavx512cd;-mavx512bw;-mavx512dq;-mavx512vl;-mfma;-mprefer-vector-width=512" "Avx512f;Avx512bw;Avx512dq;Avx512vl;Fma" 0xe6)
# NEON: every AArch64 CPU.
saccade_isa(neon   "aarch64|arm64|ARM64"   "Neon"          ""                                                             "Neon"                              0x0)

foreach(isa IN LISTS SACCADE_SKIP_ISAS)
  if(NOT isa IN_LIST SACCADE_ALL_ISAS)
    message(FATAL_ERROR "SACCADE_SKIP_ISAS: there is no ISA '${isa}', expected some of ${SACCADE_ALL_ISAS}")
  endif()
endforeach()
if(NOT SACCADE_ISAS)
  message(FATAL_ERROR "No ISA is left for ${CMAKE_SYSTEM_PROCESSOR}, SACCADE_SKIP_ISAS is '${SACCADE_SKIP_ISAS}'")
endif()
