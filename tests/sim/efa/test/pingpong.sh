#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright the fabrail authors
# libfabric's own fi_pingpong on two emulated nodes, or one; run on node 0 by `fabrail-sim run --once`.
# Arguments: fabrail-sim, the client's node, endpoint type (rdm, dgram), options of fi_pingpong.
set -eu
sim=$1
node=$2
kind=$3
shift 3
port=$((20000 + $$ % 10000))  # below the ports that the kernel gives out
server='' client=''
# Not TERM: fi_pingpong may hang in its exit handlers.
end_both() { kill -KILL $server $client 2>/dev/null || true; }
trap end_both EXIT
trap 'exit 1' TERM  # which fabrail-sim's end sends, for example when ctest has no more patience
"$sim" on 0 -- fi_pingpong -p efa -e "$kind" -B "$port" "$@" &
server=$!
# fi_pingpong's client does not try twice: state 0A in this table is "listening".
listening=$(printf ':%04X 00000000:0000 0A' "$port")
until grep -q "$listening" /proc/net/tcp; do
  kill -0 "$server"
done
"$sim" on "$node" -- fi_pingpong -p efa -e "$kind" -P "$port" "$@" 127.0.0.1 &
client=$!
wait "$client"  # unlike a program in the foreground, this lets a signal through
wait "$server"
