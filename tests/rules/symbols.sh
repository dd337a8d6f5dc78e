#!/usr/bin/env bash
# One ISA's object defines one global, its kernel table, and nothing that the linker could pick for the whole program: no weak
# symbol, no initialiser that runs at start-up.   symbols.sh NM OBJDUMP ISA OBJECT
set -euo pipefail
nm=$1 objdump=$2 isa=$3 object=$4
symbols=$("$nm" -C "$object")
shared=$(grep -E '^[0-9a-f]* *[A-TVWZuvwz] ' <<<"$symbols" || true) # upper case: global; u, v, w: weak or unique
# Symbols that are only used here are marked U and end without an address.
if [ "$(wc -l <<<"$shared")" -ne 1 ] || ! grep -q "[RDV] saccade::.*kernel_table_$isa\$" <<<"$shared"; then
  printf 'error: expected kernel_table_%s as the only global of %s, found %d:\n%s\n' "$isa" "$object" "$(wc -l <<<"$shared")" "$(head -n 10 <<<"$shared")"
  exit 1
fi
if "$objdump" -h "$object" | grep -E 'init_array|\.ctors'; then
  echo "error: $object holds initialisers"
  exit 1
fi
printf 'one global, %d local symbols: %s\n' "$(grep -cE ' [a-z] ' <<<"$symbols")" "$shared"
