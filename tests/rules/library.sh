#!/usr/bin/env bash
# A library of ours prints nothing, ends no process, and the core needs only the C and C++ libraries.
#   library.sh NM LIBRARY [READELF NEEDED_PATTERN]
set -euo pipefail
nm=$1 library=$2
calls='abort|_?exit|_Exit|quick_exit|__assert_fail|(__)?(v?f?printf|v?dprintf)(_chk)?|f?puts|putchar|putc|perror|stdout|stderr|std::(cout|cerr|clog)'
case $library in
  *.so*) symbols=$("$nm" -DC --undefined-only "$library") ;;
  *) symbols=$("$nm" -C --undefined-only "$library") ;;
esac
if grep -E "^ *[Uw] +($calls)(@.*)?\$" <<<"$symbols"; then
  echo "error: $library calls these"
  exit 1
fi
if [ $# -eq 4 ]; then
  needed=$("$3" -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  [ -n "$needed" ] || { echo "error: $library needs nothing at all?"; exit 1; }
  if grep -vE "^($4)\$" <<<"$needed"; then
    echo "error: $library needs these, expected only $4"
    exit 1
  fi
fi
echo "$(wc -l <<<"$symbols") undefined symbols, none that prints or exits${needed:+; needs $(xargs <<<"$needed")}"
