#!/usr/bin/env bash
# Installs the build into a folder of its own, moves that folder, and builds and runs a program against it.
#   consumer.sh cmake|pkg_config CMAKE COMPILER BUILD_FOLDER SOURCE_FOLDER PROGRAM LIBDIR
set -euo pipefail
way=$1 cmake=$2 compiler=$3 build=$4 source=$5 program=$6 libdir=$7
work=$build/tests/install/$way
rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix"
if [ "$way" = cmake ]; then
  "$cmake" -S "$source/tests/install/consumer" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_COMPILER=$compiler" \
    "-DSOURCE=$program" "-DCMAKE_PREFIX_PATH=$work/prefix" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
  "$cmake" --build "$work/build"
  "$work/build/service"
else
  export PKG_CONFIG_PATH=$work/prefix/$libdir/pkgconfig
  read -ra flags <<<"$(pkg-config --cflags --libs saccade)"
  "$compiler" -std=c++20 -O2 -Wall -Wextra -Wpedantic -Werror "$program" "${flags[@]}" -o "$work/service"
  LD_LIBRARY_PATH=$work/prefix/$libdir "$work/service"
fi
# The installed command starts from where it lies.
if [ -e "$work/prefix/bin/saccade" ]; then "$work/prefix/bin/saccade" --help >/dev/null; fi
