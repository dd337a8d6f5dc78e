#!/usr/bin/env bash
# The README shows the example program as it is, and the program is short.   example.sh SOURCE_FOLDER PROGRAM
set -euo pipefail
cd "$1"
lines=$(wc -l <"$2")
[ "$lines" -le 80 ] || { echo "error: $2 has $lines lines, at most 80"; exit 1; }
# The README's C++ blocks, each followed by a form feed.
shown=$(awk '/^```cpp/ { on = 1; next } /^```/ { if (on) print "\f"; on = 0; next } on' README.md)
[[ "$shown" == *"$(cat "$2")"$'\n'$'\f'* ]] || { echo "error: no cpp block of README.md is $2"; exit 1; }
echo "README.md shows $2 ($lines lines)"
