#!/usr/bin/env bash
# The contract on the embedded API, then on the real API servers side by side: each behaviour with a
# mark per server. Fails when a mark is missing, or when docs/guide/api-contract.md was not this list:
# it is then, and wants to be looked at.
# Clusters have directories of their own and come down in every case.
# Usage: each_server.sh CONTRACT_TEST, from the repository's root, where ./dev is. As ./dev test cluster.
set -euo pipefail

readonly TEST=$1
readonly PAGE=docs/guide/api-contract.md
PLACE=$(mktemp -d "${TMPDIR:-/tmp}/galen-contract.XXXXXX")
readonly PLACE
# What 1.34 has to be asked for: health on Pods was alpha, DeviceTaintRule was served only as v1alpha3.
readonly ASK_1_34=(--feature-gates 'ResourceHealthStatus=true,DRADeviceTaints=true'
  --runtime-config resource.k8s.io/v1alpha3=true)

say() { printf '%s\n' "$*" >&2; }

come_down() {
  local cluster=$1
  ./dev cluster down --dir "$cluster" >"$cluster.down.log" 2>&1 && return
  cat "$cluster.down.log" >&2
  say "contract: a cluster is still up; end it by ./dev cluster down --dir $cluster"
  return 1
}

leave() {
  local code=$? run cluster
  trap - EXIT
  # Groups of their own: what a judge has started ends with it.
  for run in $(jobs -rp); do kill -- "-$run" 2>/dev/null || true; done
  wait
  for cluster in "$PLACE"/cluster-*/; do
    [[ ! -d $cluster ]] || come_down "${cluster%/}" || exit 1
  done
  rm -rf "$PLACE"
  exit "$code"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# judge NAME: runs the suite against what the environment names; its report is NAME.xml. A test that
# fails costs its mark, not the other servers' marks. Controllers of a real cluster have their own pace,
# and delete or change a test's object between two requests now and then: a suite in which one failed is
# asked once more, and what is missing then is missing.
judge() {
  local start=$SECONDS log=$PLACE/$1.log
  ask() { "$TEST" --gtest_output="xml:$PLACE/$1.xml" --gtest_brief=1 >"$log" 2>&1; }
  ask "$1" || {
    tail -n 60 "$log" >&2
    say "contract on $1: asked once more"
    ask "$1" || tail -n 60 "$log" >&2
  }
  [[ -s $PLACE/$1.xml ]] || { say "contract on $1: the suite ended without a report"; return 1; }
  say "contract on $1: asked for $(grep -c '<testcase ' "$PLACE/$1.xml") behaviours in $((SECONDS - start)) s"
}

# judge_real VERSION [flag of up…]: on a cluster of its own, which is gone afterwards. Leaves its full version
# in the file VERSION.
judge_real() {
  local dir=$PLACE/cluster-$1 version server token
  local kubectl=(./dev cluster kubectl --dir "$dir")
  ./dev cluster up --dir "$dir" --version "$@" >"$dir.up.log" || { cat "$dir.up.log" >&2; return 1; }
  version=$("${kubectl[@]}" get --raw /version | sed -n 's/.*"gitVersion": "v\([^"]*\)".*/\1/p')
  [[ -n $version ]] || { say "contract: the API server of $1 gives no version"; return 1; }
  # Each by itself and looked at: without a server the suite would judge the embedded API.
  view() { "${kubectl[@]}" config view --raw -o "jsonpath=$1"; }
  server=$(view '{.clusters[0].cluster.server}') && token=$(view '{.users[0].user.token}') &&
    view '{.clusters[0].cluster.certificate-authority-data}' | base64 -d >"$dir.ca.pem" &&
    [[ -n $server && -n $token && -s $dir.ca.pem ]] ||
    { say "contract: the kubeconfig of $1 lacks its server, its token or its CA"; return 1; }
  GALEN_CONTRACT_SERVER=$server GALEN_CONTRACT_TOKEN=$token GALEN_CONTRACT_CA=$dir.ca.pem \
    GALEN_CONTRACT_VERSION=$version judge "$version" || return 1
  come_down "$dir" || return 1
  echo "$version" >"$PLACE/$1"
}

# marks NAME…: lines "SUITE<tab>sentence<tab>mark<tab>…", in the order of the first server's report.
marks() {
  local files=() name
  for name in "$@"; do files+=("$PLACE/$name.xml"); done
  awk '
    # MergesASetByItsValues -> merges a set by its values; names of Kubernetes keep their capitals.
    function sentence(name,   words, i, n, text) {
      gsub(/[A-Z]|[0-9]+/, " &", name); n = split(tolower(name), words, " "); text = ""
      for (i = 1; i <= n; ++i) {
        if (words[i] ~ /^(pods?|put|json)$/) words[i] = words[i] ~ /^pod/ ? "P" substr(words[i], 2) : toupper(words[i])
        text = text (i > 1 ? " " : "") words[i]
      }
      return text
    }
    function attribute(name) {
      if (!match($0, " " name "=\"[^\"]*\"")) return ""
      return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
    }
    FNR == 1 { ++server }
    /<testcase / {
      test = attribute("classname") "\t" sentence(attribute("name"))
      if (!(test in known)) { known[test] = 1; order[++count] = test }
      mark[test, server] = attribute("status") == "run" && attribute("result") == "completed" ? "yes" : ""
    }
    /<property name="since"/ { if (mark[test, server] != "") mark[test, server] = "since " attribute("value") }
    /<failure / { mark[test, server] = "" }
    END {
      for (i = 1; i <= count; ++i) {
        line = order[i]
        for (s = 1; s < ARGC; ++s) line = line "\t" (mark[order[i], s] == "" ? "MISSING" : mark[order[i], s])
        print line
      }
    }' "${files[@]}"
}

# The page: a table per suite. $1 is the file with the marks, the others are the servers.
page() {
  local file=$1
  shift
  cat <<'H'
# What an API server does, embedded or real

Written by `./dev test cluster`, which asks for each of these behaviours (`tests/contract`, a sentence a
test) on the embedded API, on which Galen's own suites and the demo run, and on real API servers in
`./dev cluster`. It fails when one mark is missing: where they differ, the embedded API is wrong.
"since" is what came with a later release; the test then holds what the older server does instead.
H
  awk -F '\t' -v servers="$*" '
    BEGIN { n = split(servers, name, " ") }
    $1 != suite {
      suite = $1
      printf "\n## %s\n| |", suite
      for (i = 1; i <= n; ++i) printf " %s |", name[i]
      printf "\n|---|"
      for (i = 1; i <= n; ++i) printf "---|"
      print ""
    }
    {
      printf "| %s |", $2
      for (i = 3; i <= NF; ++i) printf " %s |", $i == "yes" ? "✓" : $i
      print ""
    }' "$file"
}

main() {
  local servers=(embedded) version runs=() run missing count away=0
  judge embedded
  ./dev cluster build --all >"$PLACE/build.log" 2>&1 || { cat "$PLACE/build.log" >&2; return 1; }
  set -m
  judge_real 1.37 & runs+=("$!")
  judge_real 1.34 "${ASK_1_34[@]}" & runs+=("$!")
  set +m
  for run in "${runs[@]}"; do wait "$run" || away=1; done
  for version in 1.37 1.34; do
    [[ ! -e $PLACE/$version ]] || servers+=("$(<"$PLACE/$version")")
  done
  marks "${servers[@]}" >"$PLACE/marks"
  page "$PLACE/marks" "${servers[@]}" >"$PLACE/page"
  sed 1,6d "$PLACE/page"
  count=$(wc -l <"$PLACE/marks")
  missing=$( (grep -o MISSING "$PLACE/marks" || true) | wc -l)
  say "contract: $count behaviours on ${servers[*]}: $missing marks missing"
  ((away == 0)) || say "contract: a server did not come up, so its marks are missing; see above"
  ((missing == 0 && count > 0 && away == 0))
  cmp -s "$PLACE/page" "$PAGE" && return
  cp "$PLACE/page" "$PAGE"
  say "contract: $PAGE was not of today; it is written anew: look at it and commit it"
  return 1
}

main
