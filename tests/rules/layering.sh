#!/usr/bin/env bash
# What each folder may include (tools -> runtime -> kernels, nothing points back), and which headers and calls belong to one place.
#   layering.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"
bad=0
folders=()
for folder in kernels runtime tools bench tests; do [ ! -d $folder ] || folders+=($folder); done

complain() { # WHAT LINES
  [ -n "$2" ] || return 0
  printf 'error: %s:\n%s\n' "$1" "$2"
  bad=1
}
# Lines FILE:LINE:TEXT of our sources under these folders that match.
lines() { # PATTERN FOLDER...
  local pattern=$1
  shift
  grep -rnE "$pattern" --include='*.h' --include='*.cc' --include='*.inc' --include='*.in' "$@" 2>/dev/null || true
}
includes() { # WHAT FOLDER ALLOWED [FILES_LEFT_OUT]: every include of the folder is one of those
  complain "$1" "$(lines '^ *# *include' "$2" | grep -vE "^(${4:-none}):" | grep -vE "include ($3)" || true)"
}
only() { # WHAT PATTERN FILES: found in these files and nowhere else
  complain "$1" "$(lines "$2" "${folders[@]}" | grep -vE "^($3):" || true)"
}

standard='<[a-z_0-9]+(\.h)?>'
includes 'kernels include kernels, the standard library and, in vec.h, xsimd' kernels "\"kernels/|$standard|<xsimd/xsimd.hpp>"
includes 'runtime includes of the kernels kernels.h and isa.h' runtime '<|"saccade/|"runtime/|"kernels/(kernels|isa)\.h"'
includes 'public headers include each other and the standard library' runtime/include "\"saccade/[a-z_0-9]+\\.h\"|<[a-z_0-9]+>"
includes 'tools include saccade/*.h, their own headers and libraries' tools '<|"saccade/|"tools/' 'tools/bench_kernels\.(cc|h)'
only 'xsimd and intrinsics belong to vec.h (detection: isa.cc, machine_*.cc)' \
  '# *include.*<(xsimd|[a-z]*intrin|arm_neon|cpuid)' 'kernels/generic/vec\.h|kernels/isa\.cc|runtime/execute/machine_[a-z]+\.cc'
only 'oneDNN belongs to runtime/backend (benches: the rival)' '# *include.*dnnl' 'runtime/backend/[a-z_0-9]+\.(h|cc)|bench/[a-z_0-9/]+\.(h|cc)'
only 'omp.h belongs to the OpenMP executor and to the oneDNN backend, which sets its thread count' '# *include.*<omp\.h>' \
  'runtime/execute/[a-z_]*openmp[a-z_]*\.cc|runtime/backend/[a-z_0-9]+\.cc|(bench|tests)/.*'
only 'the libraries print nothing and end no process' \
  '(^|[^a-z_:.>])(std::)?(abort|exit|_Exit|quick_exit|printf|fprintf|puts|perror)\(|std::(cout|cerr|clog)' '(tools|tests|bench)/.*'

exit $bad
