#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright the fabrail authors
# whole_nodes.sh FABRAIL_SIM NCCL_TEST COLLECTIVE [option...]: NCCL on every GPU and NIC of two p5.48xlarge, this
# network's. Fails on a wrong byte, on a channel between nodes that does not go GPU to NIC, or if a NIC has carried
# much more or less than the mean.
sim=$1
program=$2
collective=$3
shift 3
if [ -z "$FABRAIL_CONFORMANCE_MUST_TAKE_MEMORY" ]; then
  exit 77  # it takes long, and is meant for a libfabric that gives NICs GPU memory
fi
if ! "$sim" on --mount 0 -- true; then
  exit 77  # neither root nor user namespaces: NCCL would not see the node's PCI devices
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 1' TERM

gpus=$("$sim" describe p5 | awk '$1 == "gpu" { printf "%s%s", separator, $2; separator = "," }')
EMUGPU_PCI=$gpus "$program" "$collective" "$@" --nodes 2 -g 8 --on-node "$sim on --mount {} --" >"$log" 2>&1
failed=$?
grep -E '^(#| *[a-z_]+ +[0-9]+ )' "$log"
[ $failed = 0 ] || tail -n 200 "$log"

# Says so and remembers if the words after the first are not a command that succeeds.
must() {
  what=$1
  shift
  "$@" || { echo "whole_nodes.sh: not so: $what" && failed=1; }
}
# shellcheck disable=SC2317  # called by must
sees() { grep -qE "$1" "$log"; }
# shellcheck disable=SC2317
sees_not() { ! sees "$1"; }

must "no wrong byte" sees 'Out of bounds values : 0 OK'
must "NICs are given GPU memory" sees 'via NET/fabrail/[0-9]+/GDRDMA'
must "every channel between nodes is GDRDMA" sees_not 'via NET/fabrail/[0-9]+(/Shared)?$'
"$sim" list | awk '$3 ~ /^rdmap/ {
    bytes[++nics] = $(NF - 2) + $(NF - 1) + $NF
    sum += bytes[nics]
  }
  END {
    for (i = 1; i <= nics; ++i) {
      off = bytes[i] / (sum / nics) - 1
      if (off < 0) off = -off
      if (off > most) most = off
    }
    printf "# %d NICs carried %.1f MB each, none more than %.1f %% off\n", nics, sum / nics / 1e6, 100 * most
    exit most > 0.05
  }' || failed=1
exit $failed
