# shellcheck shell=bash
# Sourced by the scripts of this folder and by .ci/run. Sets `root`, the top of the clone, and goes there.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "error: $*"
  exit 1
}

# Names of the packages of groups in tools/packages.
packages() {
  local group
  for group; do
    grep -q "^$group:" tools/packages || fail "tools/packages has no group '$group'"
    sed -n "s/^$group: *//p" tools/packages
  done | xargs -n 1 | sort -u
}

# Installs the packages of these groups that are missing: as root or by sudo; else lists them and stops.
need() {
  local package missing=() sudo=()
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    fail "this script installs with apt; without it, install the equivalents of: $(packages "$@" | xargs) and use the CMake presets"
  for package in $(packages "$@"); do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
      sudo=(sudo)
    else
      fail "missing packages; install them as root, then run this again:
  apt-get install --no-install-recommends ${missing[*]}"
    fi
  fi
  say "installing: ${missing[*]}"
  # An index that cannot be fetched matters only if a package is then missing, and the install below tells that.
  "${sudo[@]}" apt-get -q update >&2 || say "apt-get update failed; going on with the package lists at hand"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends \
    -o DPkg::Lock::Timeout=600 "${missing[@]}" </dev/null >&2 || fail "apt-get could not install: ${missing[*]}"
}

# unpack ARCH FOLDER PACKAGE...: unpacks Debian packages of an architecture under FOLDER. With an apt state of its own, so that
# nothing is installed, the host's list of architectures stays as it is, and no root is needed.
unpack() {
  local arch=$1 folder=$2 package apt
  shift 2
  mkdir -p "$folder.apt/lists/partial" "$folder.apt/cache/archives/partial" "$folder.apt/debs"
  : >"$folder.apt/status"
  apt=$(cd "$folder.apt" && pwd)
  local options=(-q -o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o "Dir::State=$apt" -o "Dir::State::status=$apt/status"
    -o "Dir::Cache=$apt/cache" -o Acquire::Languages=none -o APT::Sandbox::User=root -o Acquire::Retries=3)
  apt-get "${options[@]}" update >&2 || say "apt-get update failed in part; going on"
  (cd "$apt/debs" && apt-get "${options[@]}" download "$@" >&2) || fail "apt-get could not download for $arch: $*"
  mkdir -p "$folder"
  for package in "$apt"/debs/*.deb; do dpkg -x "$package" "$folder"; done
  rm -rf "$apt"
}

# configure PRESET [-D...]: CI's options do not stay in the cache of a folder that users build in.
configure() {
  local preset=$1
  shift
  cmake --preset "$preset" -DSACCADE_WERROR=OFF "$@" >&2
}

# Where a preset builds.
folder_of() { [ "$1" = release ] && echo build || echo "build/$1"; }

build() {
  local preset=$1
  shift
  cmake --build "$(folder_of "$preset")" -j "$jobs" "$@" >&2
}

# isa_table native=LOG... emulated=LOG...: counts the ctest lines of each log by the ISA in the test's name (NAME.ISA.LABEL);
# fails when none of them ran.
isa_table() {
  local entry
  for entry; do sed "s/^/${entry%%=*} /" "${entry#*=}"; done | awk '
    $0 !~ /Test +#[0-9]+:/ { next }
    {
      split("sse2 avx2 avx512 neon", order, " ")
      isa = "any"
      for (i in order) if ($0 ~ ("\\." order[i] "\\.")) isa = order[i]
      if (/Skipped|Not Run/) { skipped[isa]++; next }
      if (/Passed|Failed|Timeout|Exception/) { count[isa, $1]++; ran++ }
    }
    END {
      printf "\n%-8s %14s %10s %9s   (test entries)\n", "ISA", "ran natively", "emulated", "skipped"
      split("sse2 avx2 avx512 neon any", order, " ")
      for (i = 1; i <= 5; i++) {
        isa = order[i]
        printf "%-8s %14d %10d %9d\n", isa, count[isa, "native"], count[isa, "emulated"], skipped[isa]
      }
      print "any: tests that do not depend on the ISA"
      if (!ran) { print "error: no test ran"; exit 1 }
    }'
}

# Programs of the tests of a configured preset whose names match a regex: a test is called PROGRAM.ISA.LABEL.
test_targets() { # PRESET REGEX
  ctest --test-dir "$(folder_of "$1")" -N -R "$2" | sed -n 's/^ *Test *#[0-9]*: \([^.]*\)\..*/\1/p' | sort -u
}
