#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright the fabrail authors
# whole_nodes.sh FABRAIL_SIM FABRAIL DEVICES [fabrail perf argument...]: a checked all-reduce over every device of
# both nodes of this network, one rank each. Neighbours in the ring are on different nodes, so that every NIC works.
# Fails on a wrong byte, or if a NIC has carried much more than another.
sim=$1
fabrail=$2
ranks=$((2 * $3))
shift 3
if ! "$sim" on --mount 0 -- true; then
  exit 77  # neither root nor user namespaces: nothing shows which NICs make a device
fi
results=$(mktemp)
trap 'rm -f "$results"' EXIT
trap 'exit 1' TERM
port=$((20000 + $$ % 10000))  # below the ports that the kernel gives out

launch() {
  rank=$1
  shift
  "$sim" on --mount $((rank % 2)) -- env RANK="$rank" WORLD_SIZE=$ranks MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" \
    "$fabrail" perf --test allreduce --check 1 --device $((rank / 2)) "$@"
}

rank=1
pids=
while [ $rank -lt $ranks ]; do
  launch $rank "$@" >/dev/null &
  pids="$pids $!"
  rank=$((rank + 1))
done
launch 0 "$@" | tee "$results"
failed=0
for pid in $pids; do wait "$pid" || failed=1; done
grep -q '^# wrong in all: 0$' "$results" || failed=1
"$sim" list | awk '$3 ~ /^rdmap/ {
    bytes = $(NF - 2) + $(NF - 1) + $NF
    if (nics++ == 0 || bytes < least) least = bytes
    if (bytes > most) most = bytes
  }
  END {
    printf "%d NICs: the busiest carried %.1f MB, the idlest %.1f MB\n", nics, most / 1e6, least / 1e6
    exit most > 1.1 * least
  }' || failed=1
exit $failed
