#!/usr/bin/env bash
# sandbox.sh SECONDS COMMAND…: a program that may do anything, where it can do no harm. It sees the
# machine's files but writes only to a /tmp of its own in memory; it sees no process, no socket and no
# network of the machine, only loopback; it ends after so many seconds, with all that it has started.
# Exits as the command does; 124 or 137: it took too long; 125: there can be no such place here.
set -euo pipefail

readonly MEMORY_KIB=$((4 * 1024 * 1024)) FILES_MIB=512

# The rest runs inside, as the first process of the new namespaces.
if [[ ${1:-} != --inside ]]; then
  exec unshare --mount --pid --net --ipc --uts --fork --kill-child=KILL --mount-proc \
    "$0" --inside "$@"
fi
seconds=$2
shift 2

# Each step ends it: where the caller looks at the result, `set -e` counts for nothing in here.
close_off() {
  local place mounts
  mount --make-rprivate / || return
  mounts=$(findmnt -rno TARGET) || return
  while read -r place; do
    # Devices and the processes of this namespace stay as they are.
    [[ $place == /dev* || $place == /proc* ]] && continue
    place=$(printf '%b' "$place") || return  # findmnt writes a blank as \x20
    mount -o remount,bind,ro "$place" || return
  done <<<"$mounts"
  # A socket can be connected to on a mount that is read-only: hide the places where they lie.
  for place in /run /var/lib/kubelet /dev/shm; do
    [[ ! -d $place ]] || mount -t tmpfs -o size=16m tmpfs "$place" || return
  done
  mount -t tmpfs -o "size=${FILES_MIB}m,mode=1777" tmpfs /tmp || return
  ip link set lo up || return
}
close_off || exit 125

ulimit -v "$MEMORY_KIB" -c 0
export TMPDIR=/tmp HOME=/tmp
cd /tmp
# Not exec: the first process of a namespace gets no default signals, and those that kill a test must.
timeout --kill-after=1 "$seconds" "$@" || exit
