#!/usr/bin/env bash
# run.sh PLACE SEED SAMPLE ROOM…: plants so many faults in each room, one at a time, and says which of
# them no test finds. PLACE is an absolute path that holds `tree`, a copy of the sources; what it was
# built for stays there, and PLACE/seed-SEED/results.tsv, so that a run that was cut off goes on.
# Called by ./dev mutate, which makes the copy.
set -euo pipefail
readonly PLACE=$1 SEED=$2 SAMPLE=$3
shift 3
readonly ROOMS=("$@")
readonly TREE=$PLACE/tree BUILD=$PLACE/tree/build/release RUN=$PLACE/seed-$SEED
readonly SANDBOX=$TREE/tests/mutate/sandbox.sh
readonly DRAWN=$RUN/faults.tsv RESULTS=$RUN/results.tsv
# The faults, as in DRAWN, that survived once, before somebody wrote a test.
readonly MISSED=$RUN/missed.tsv
readonly JOBS=${GALEN_JOBS:-$(nproc)}
# Survivors of which somebody found that they change nothing: file, before, after, why.
readonly NO_CHANGE=$TREE/tests/mutate/no_change.tsv
# Enough of the simulation that a whole fault takes less than half a minute of a core.
export GALEN_SIM_SEEDS=10 GALEN_SIM_EVENTS=1000
readonly SIM_FILTER='-*IsFoundByItsRuleInAShortStory*:*TheSameSeedGivesTheSameRun'
# What a test program may take: a part for each second that it takes without a fault, and some more for
# a machine that just then has other work.
readonly PATIENCE_FACTOR=5 PATIENCE_SECONDS=20

say() { printf '%s\n' "$*" >&2; }
die() { say "mutate: $*"; exit 1; }

# ---- what is built ---------------------------------------------------------------------------

# Rooms without their sub-rooms.
whole_rooms() { printf '%s\n' "${ROOMS[@]%%/*}" | sort -u; }
named_in() { sed -n "s/^$2(\([a-z_0-9]*\).*/\1/p" "$TREE/src/$1/CMakeLists.txt"; }
programs_of() { named_in "$1" galen_test; }
libraries_of() { named_in "$1" galen_library | grep -v _fakes; }

build_once() {
  local room libraries=() programs=()
  for room in $(whole_rooms); do
    mapfile -t -O "${#libraries[@]}" libraries < <(libraries_of "$room")
    mapfile -t -O "${#programs[@]}" programs < <(programs_of "$room")
  done
  export CCACHE_BASEDIR=$TREE
  # A changed file is linked before the rest of its library, which must then be in single files.
  cmake -S "$TREE" --preset release -DGALEN_TESTS=ON \
    "-DGALEN_SINGLE_FILE_ROOMS=$(IFS=';'; echo "${libraries[*]}")"
  cmake --build "$BUILD" -j "$JOBS" --target draw_faults sim_test "${programs[@]}"
}

# The command that makes one target, as ninja would run it.
command_of() { ninja -C "$BUILD" -t commands "$1" 2>/dev/null | tail -n 1; }

# The object of src/agent/health/health_cache.cc, from the root of the build.
object_of() {
  local room=${1#src/}
  room=${room%%/*}
  (cd "$BUILD" && ls src/"$room"/CMakeFiles/*.dir/"${1#src/"$room"/}.o")
}

# compile NAME FILE: the changed file, as the file that it was made of.
compile() {
  local command
  command=$(command_of "$(object_of "$2")")
  # Warnings stop nobody here: a variable that nobody uses any more is part of a fault.
  (cd "$BUILD" && CCACHE_DISABLE=1 bash -c "${command%% -MD *} -w -g0 -o '$RUN/$1.o' -c '$RUN/$1.cc'")
}

# link NAME PROGRAM: with the changed object first, so that the one in the library is not looked for.
link() {
  local command
  command=$(command_of "$2")
  command=${command/ -Wl,--gc-sections/ "$RUN/$1.o" -Wl,-S -Wl,--gc-sections}
  (cd "$BUILD" && bash -c "${command/-o tests\/$2/-o "$RUN/$1.$2"}")
}

# ---- what is run -----------------------------------------------------------------------------

# Without a fault each program passes, and takes so long. Known of one that is no newer than that.
try_without_faults() {
  local program start code
  for program in "$@"; do
    [[ ! "$RUN/$program.patience" -nt "$BUILD/tests/$program" ]] || continue
    start=$SECONDS code=0
    run_program "$BUILD/tests/$program" 600 "$(filter_of "$program")" \
      >"$RUN/$program.log" 2>&1 || code=$?
    ((code == 0)) || die "$program fails without any fault (exit $code): ${RUN#"$PWD"/}/$program.log"
    echo $(((SECONDS - start) * PATIENCE_FACTOR + PATIENCE_SECONDS)) >"$RUN/$program.patience"
  done
}

filter_of() { if [[ $1 == sim_test ]]; then echo "$SIM_FILTER"; else echo '*'; fi; }

# run_program PATH SECONDS FILTER: malloc fills what is freed, so that a fault that uses it is seen.
run_program() {
  MALLOC_PERTURB_=165 "$SANDBOX" "$2" "$1" --gtest_brief=1 --gtest_fail_fast "--gtest_filter=$3" </dev/null
}

# The suites of the file's own test, as a filter; nothing where it has none.
own_suites() {
  local own=$TREE/${1%.cc}_test.cc
  [[ ! -e $own ]] || sed -nE 's/^(TEST|TEST_F|TEST_P)\((\w+),.*/\2/p' "$own" | sort -u |
    sed 's/.*/&.*:*\/&.*/' | paste -sd:
}

# notices NAME PROGRAM FILTER: 0 when the program fails with the fault, and prints how; 1 when it passes;
# 2 when that cannot be known. What fails is run once more: a test that fails now and then has found
# nothing.
notices() {
  local patience log=$RUN/$1.log code=0 again=0 test
  patience=$(<"$RUN/$2.patience")
  run_program "$RUN/$1.$2" "$patience" "$3" >"$log" 2>&1 || code=$?
  case $code in
    0) return 1 ;;
    124 | 137) echo "time-out"; return 0 ;;
    125) say "$1: $(tail -n 1 "$log")"; return 2 ;;
  esac
  test=$(sed -nE 's/^\[  FAILED  \] ([^ ,]+).*/\1/p' "$log" | head -n 1)
  run_program "$RUN/$1.$2" "$patience" "${test:-$3}" >"$log.again" 2>&1 || again=$?
  ((again != 0)) || return 1
  echo "${test:-crash}"
}

in_simulation() { command_of sim_test | grep -qF "/lib$(basename "${1%%.dir/*}").a "; }

# link_and_notice NAME PROGRAM BY FILTER: a result when the program notices the fault. Leaves the shell
# when that cannot be known.
link_and_notice() {
  local how code=0
  [[ -e $RUN/$1.$2 ]] || link "$1" "$2" >"$RUN/$1.log" 2>&1 || {
    say "$1: $(tail -n 3 "$RUN/$1.log")"
    exit 2
  }
  how=$(notices "$1" "$2" "$4") || code=$?
  ((code != 2)) || exit 2
  ((code == 0)) || return 1
  printf 'found\t%s\t%s\n' "$3" "$how"
}

# Prints "outcome, by, how" of one fault, with tabs.
try() {
  local name=$1 room=${2%%/*} file=$3 own program
  # Programs that a run which was cut off left, perhaps from before a test was written.
  rm -f "$RUN/$name".*_test
  if ! compile "$name" "$file" >"$RUN/$name.log" 2>&1; then
    printf 'not built\t-\t-\n'
    return
  fi
  own=$(own_suites "$file")
  for program in $(programs_of "$room"); do
    if [[ -n $own ]]; then link_and_notice "$name" "$program" "own test" "$own" && return; fi
    link_and_notice "$name" "$program" room '*' && return
  done
  if in_simulation "$(object_of "$file")"; then
    link_and_notice "$name" sim_test simulation "$SIM_FILTER" && return
  fi
  printf 'survived\t-\t-\n'
}

# What is known to change nothing need not be tried.
known_to_change_nothing() { cut -f1-3 "$NO_CHANGE" | grep -qxF -- "$1"; }

# A row of results.tsv: that of faults.tsv, and behind it outcome, by, how and seconds.
try_row() {
  local row=$1 name room file line kind before after start=$SECONDS result
  IFS=$'\t' read -r name room file line kind before after <<<"$row"
  if known_to_change_nothing "$file"$'\t'"$before"$'\t'"$after"; then
    result=$'survived\t-\t-'
  else
    # Without a result it is tried again by the next run.
    result=$(try "$name" "$room" "$file") || return
  fi
  diff -u --label "$file" --label "$file" "$TREE/$file" "$RUN/$name.cc" >"$RUN/$name.patch" || true
  rm -f "$RUN/$name".{o,cc,log,log.again} "$RUN/$name".*_test
  printf '%s\t%s\t%s\n' "$row" "$result" $((SECONDS - start)) >>"$RESULTS"
  IFS=$'\t' read -r -a result <<<"$result"
  say "$name $file:$line, $kind: ${result[0]}, ${result[1]}, ${result[2]}, $((SECONDS - start)) s"
}

# Rows that stand, of other rooms too. One goes when another fault is drawn under its name now. A survivor
# goes when the sources are others, for then there may be a test of it, unless it is known to change
# nothing.
keep_results() {
  local same=0
  cmp -s "$PLACE/sources" "$RUN/sources" && same=1
  touch "$RESULTS" "$MISSED"
  awk -F'\t' -v same="$same" -v missed="$MISSED" '
    FILENAME == ARGV[1] { known[$1, $2, $3] = 1; next }
    FILENAME == ARGV[2] { drawn[$1] = $0; next }
    { row = $1; for (i = 2; i <= 7; ++i) row = row FS $i }
    $1 in drawn && drawn[$1] != row { next }
    same || $8 != "survived" || ($3, $6, $7) in known { print; next }
    { print row >>missed }' \
    "$NO_CHANGE" "$DRAWN" "$RESULTS" >"$RESULTS.new"
  mv "$RESULTS.new" "$RESULTS"
  cp "$PLACE/sources" "$RUN/sources"
}

# Each fault is tried in a process group of its own, which ends as one. What was tried until then is
# shown, and the same command goes on there.
end_all() {
  local group
  trap '' INT TERM
  for group in $(jobs -p); do kill -- "-$group" 2>/dev/null || true; done
  wait || true
  summary
  exit 130
}

# The rooms take turns, so that a run that was cut off has tried some of each.
in_turns() { awk -F'\t' -v OFS='\t' '{ print ++n[$2], $0 }' | sort -s -n -k1,1 | cut -f2-; }

try_all() {
  local row done_names
  done_names=" $(cut -f1 "$RESULTS" | tr '\n' ' ')"
  trap end_all INT TERM
  while IFS= read -r row; do
    [[ $done_names != *" ${row%%$'\t'*} "* ]] || continue
    while (($(jobs -rp | wc -l) >= JOBS)); do wait -n || true; done
    set -m
    try_row "$row" &
    set +m
  done <"$DRAWN"
  wait || true
  trap - INT TERM
}

# ---- what came of it -------------------------------------------------------------------------

# The results of what is drawn, in the order of the faults' names, with the outcome "changes nothing"
# where that is known, and as the last field whether it survived once.
judged() {
  awk -F'\t' -v OFS='\t' '
    FILENAME == ARGV[1] { known[$1, $2, $3] = 1; next }
    FILENAME == ARGV[2] { drawn[$1] = 1; next }
    FILENAME == ARGV[3] { missed[$0] = 1; next }
    !($1 in drawn) { next }
    { row = $1; for (i = 2; i <= 7; ++i) row = row FS $i; $12 = row in missed ? "missed" : "" }
    $8 == "survived" && ($3, $6, $7) in known { $8 = "changes nothing" } { print }' \
    "$NO_CHANGE" "$DRAWN" "$MISSED" <(sort "$RESULTS")
}

summary() {
  judged | awk -F'\t' '
    { ++tried[$2]; ++tried["all"]; key = $8 == "found" ? $9 : $8; ++n[$2, key]; ++n["all", key]
      if ($8 == "found" && $12 == "") { ++first[$2]; ++first["all"] }
      if (!($2 in seen)) { seen[$2] = 1; rooms[++count] = $2 } }
    function share(some, all) { return all ? sprintf("%.0f %%", 100 * some / all) : "–" }
    function line(room,  found, real) {
      found = n[room, "own test"] + n[room, "room"] + n[room, "simulation"]
      real = found + n[room, "survived"]
      printf "| %s | %d | %d | %d | %d | %d | %d | %d | %s | %s |\n", room, tried[room],
        n[room, "not built"], n[room, "changes nothing"], n[room, "own test"], n[room, "room"],
        n[room, "simulation"], n[room, "survived"], share(first[room], real), share(found, real) }
    END {
      print "| room | tried | did not build | change nothing | found by the own test | by the room | by the simulation | survived | found at first | found now |"
      print "|---|---|---|---|---|---|---|---|---|---|"
      for (i = 1; i <= count; ++i) line(rooms[i])
      if (count > 1) line("all") }'
  judged | awk -F'\t' '$8 == "survived" { if (!some++) print "\nSurvived:"
    printf "- %s:%d, %s (%s)\n  before: %s\n  after:  %s\n", $3, $4, $5, $1, $6, $7 }'
}

mkdir -p "$RUN" "$PLACE/logs"
say "mutate: builds what the rooms' tests and the simulation need"
build_once >"$PLACE/logs/build.log" 2>&1 || { tail -n 40 "$PLACE/logs/build.log" >&2; die "build failed"; }
"$BUILD/tests/draw_faults" --root "$TREE" --out "$RUN" --seed "$SEED" --sample "$SAMPLE" "${ROOMS[@]}" |
  in_turns >"$DRAWN"
keep_results
say "mutate: runs the tests once without a fault"
for room in $(whole_rooms); do try_without_faults $(programs_of "$room"); done
try_without_faults sim_test
try_all
untried=$(($(wc -l <"$DRAWN") - $(judged | wc -l)))
((untried == 0)) || say "mutate: $untried could not be tried, see above; the same command tries them again"
summary | tee "$RUN/summary.md"
say "mutate: each fault as a patch, and all results: ${RUN#"$PWD"/}"
