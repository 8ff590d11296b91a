#!/bin/sh
# What a driver's author does: installs Galen somewhere, builds the example against it in the two
# ways that are documented, and asks it for help. Called by ctest:
#   install_test.sh SOURCE_DIR BUILD_DIR CXX [CXX_FLAGS]
set -eu
source=$1 build=$2 cxx=$3 flags=${4:-}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

say() { printf '%s\n' "$*"; }
fail() { say "install test: $*"; exit 1; }

cmake --install "$build" --prefix "$place/galen" --component sdk >"$place/log" 2>&1 ||
  { cat "$place/log"; fail "cmake --install failed"; }
headers=$(cd "$place/galen/include" && find . -type f | sort)
[ "$headers" = "./galen/driver.h" ] || fail "installed headers are not one: $headers"

say "by find_package(galen)"
# Not CMake's default, make: Ninja is what this build has.
cmake -G Ninja -S "$source/examples" -B "$place/build" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_PREFIX_PATH="$place/galen" >"$place/log" 2>&1 &&
  cmake --build "$place/build" >>"$place/log" 2>&1 || { cat "$place/log"; fail "CMake build failed"; }

say "by pkg-config"
PKG_CONFIG_PATH=$(dirname "$(find "$place/galen" -name galen.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046,SC2086
"$cxx" -std=c++20 $flags "$source/examples/fpga_driver.cc" $(pkg-config --cflags --libs galen) \
  -o "$place/fpga_driver" || fail "pkg-config build failed"

for program in "$place/build/fpga_driver" "$place/fpga_driver"; do
  "$program" --help >"$place/help" || fail "$program --help failed"
  grep -q -- "--kubelet-root" "$place/help" || fail "$program --help says nothing of its flags"
  code=0
  NODE_NAME= "$program" --log-level error 2>"$place/error" || code=$?
  [ "$code" = 64 ] || fail "$program without a node left with $code, not 64"
  grep -q "node is empty" "$place/error" || fail "$program does not say what is missing"
done
say "both work"
