#!/usr/bin/env bash
# Every public header compiles by itself, twice in one file, without exceptions and RTTI, without a warning.
#   headers.sh COMPILER FOLDER...    include folders, the headers in their saccade/
set -euo pipefail
compiler=$1
shift
compile() { # HEADER COMPILER FOLDER...
  local name options=()
  name=saccade/$(basename "$1")
  for folder in "${@:3}"; do options+=(-I "$folder"); done
  printf '#include "%s"\n#include "%s"\n' "$name" "$name" |
    "$2" -std=c++20 -fsyntax-only -fno-exceptions -fno-rtti -Wall -Wextra -Wpedantic -Werror "${options[@]}" -x c++ - ||
    { echo "error: $name does not compile by itself"; return 1; }
}
export -f compile
headers=$(find "$@" -path '*/saccade/*.h' -maxdepth 2)
[ -n "$headers" ] || { echo "error: no header in saccade/ under $*"; exit 1; }
# shellcheck disable=SC2016
xargs -P "$(nproc)" -I {} bash -c 'compile "$@"' compile {} "$compiler" "$@" <<<"$headers"
echo "$(wc -l <<<"$headers") headers"
