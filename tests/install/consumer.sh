#!/usr/bin/env bash
# Installs the build into a folder of its own, moves that folder, and builds and runs the examples against it.
#   consumer.sh cmake|pkg_config CMAKE COMPILER BUILD_FOLDER SOURCE_FOLDER LIBDIR [model]
set -euo pipefail
way=$1 cmake=$2 compiler=$3 build=$4 source=$5 libdir=$6 model=${7-}
work=$build/tests/install/$way
rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix"
if [ "$way" = cmake ]; then
  "$cmake" -S "$source/tests/install/consumer" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_COMPILER=$compiler" \
    "-DEXAMPLES=$source/examples" "-DCOMPONENTS=$model" "-DCMAKE_PREFIX_PATH=$work/prefix" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
  "$cmake" --build "$work/build"
else
  export PKG_CONFIG_PATH=$work/prefix/$libdir/pkgconfig
  mkdir "$work/build"
  compile() { # PROGRAM PACKAGE
    read -ra flags <<<"$(pkg-config --cflags --libs "$2")"
    "$compiler" -std=c++20 -O2 -Wall -Wextra -Wpedantic -Werror "$source/examples/$1.cc" "${flags[@]}" -o "$work/build/$1"
  }
  compile service saccade
  [ -z "$model" ] || compile embed saccade_model
  export LD_LIBRARY_PATH=$work/prefix/$libdir
fi
"$work/build/service"
if [ -n "$model" ]; then # a directory that is not there is an error that names it
  status=0
  "$work/build/embed" /nonexistent/model a b 2>"$work/embed.log" || status=$?
  [ $status -eq 1 ]
  grep -q '^not_found: /nonexistent/model' "$work/embed.log"
fi
# The installed command starts from where it lies.
if [ -e "$work/prefix/bin/saccade" ]; then "$work/prefix/bin/saccade" --help >/dev/null; fi
