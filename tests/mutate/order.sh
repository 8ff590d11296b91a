#!/usr/bin/env bash
# order.sh PLACE [NAME…]: which of the faults of order in order_faults.patch the simulation finds, each
# planted alone. PLACE is an absolute path that holds `tree`, a copy of the sources; the build stays
# there. All faults are in one program, where each waits for its name. An ordinary run's clusters are
# played until one of them breaks a rule; GALEN_SIM_SEEDS: fewer or more of them. Called by
# ./dev mutate --order, which makes the copy.
set -euo pipefail
readonly PLACE=$1
shift
readonly TREE=$PLACE/tree BUILD=$PLACE/tree/build/release
readonly PATCH=$TREE/tests/mutate/order_faults.patch
readonly JOBS=${GALEN_JOBS:-$(nproc)}
# Ten times what an ordinary run takes on two cores.
readonly PATIENCE_SECONDS=600

die() { printf 'mutate: %s\n' "$*" >&2; exit 1; }
# "name: what it is", one a line, stand before the first file of the patch.
faults() { sed -nE '/^(diff|---) /q; s/^([a-z-]+): (.+)/\1\t\2/p' "$PATCH"; }

mkdir -p "$PLACE/logs"
# Left by a run before; the copy has put back only what it knows.
rm -f "$TREE/src/base/planted.h"
patch --dry-run -s -d "$TREE" -p1 <"$PATCH" >&2 || die "order_faults.patch is of other sources; mend it"
patch -s -d "$TREE" -p1 <"$PATCH"
export CCACHE_BASEDIR=$TREE
{ cmake -S "$TREE" --preset release -DGALEN_TESTS=ON && cmake --build "$BUILD" -j "$JOBS" --target sim_test; } \
  >"$PLACE/logs/build.log" 2>&1 || die "build failed: $PLACE/logs/build.log"

found=0 tried=0
play() {
  GALEN_PLANTED=$1 GALEN_SIM_ONE_BREACH=1 "$TREE/tests/mutate/sandbox.sh" "$PATIENCE_SECONDS" \
    "$BUILD/tests/sim_test" --gtest_filter='Sim.ClustersUnder*' </dev/null
}
code=0
play none >"$PLACE/logs/none.log" 2>&1 || code=$?
((code == 0)) || die "a cluster breaks a rule without any fault: $PLACE/logs/none.log"
echo "| fault | the simulation | rule |"
echo "|---|---|---|"
while IFS=$'\t' read -r name what; do
  (($# == 0)) || [[ " $* " == *" $name "* ]] || continue
  ((++tried)) && code=0
  play "$name" >"$PLACE/logs/$name.log" 2>&1 || code=$?
  by=$(sed -nE 's/.*seed [0-9]+ breaks .?"([a-z]+).*/\1/p' "$PLACE/logs/$name.log" | head -n 1)
  case $code in
    0) echo "| $what | none of the clusters | |" ;;
    124 | 137) echo "| $what | cut off after $PATIENCE_SECONDS s | |" ;;
    125) die "$(tail -n 1 "$PLACE/logs/$name.log")" ;;
    *) ((++found)) && echo "| $what | found | ${by:-crash} |" ;;
  esac
done < <(faults)
echo
echo "Of $tried the simulation found $found."
