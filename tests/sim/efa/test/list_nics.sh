#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright the fabrail authors
# libfabric's own fi_info has to list $1 NICs on fabric efa; from libfabric 2.1 on also on efa-direct.
set -eu
expected=$1
version=$(fi_info --version | sed -n 's/^libfabric: //p')
case $version in
  1.* | 2.0.*) fabrics=efa ;;
  *) fabrics="efa efa-direct" ;;
esac
for fabric in $fabrics; do
  found=$(fi_info -p efa -t FI_EP_RDM -f "$fabric" | grep -c 'domain: rdmap' || true)
  echo "libfabric $version, fabric $fabric: $found NICs"
  test "$found" = "$expected"
done
