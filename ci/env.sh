# SPDX-License-Identifier: Apache-2.0
# Copyright the fabrail authors
# Sourced by the scripts of ci/: goes to the repository root and chooses the tools to build with.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Prints the first digits of what `COMMAND --version` says, nothing if there is no such command.
tool_major() {
  command -v "$1" >/dev/null || return 0
  "$1" --version | grep -oE '[0-9]+\.[0-9]+' | head -n 1 | cut -d. -f1
}

# The code needs g++ 12; where that is not the default (Ubuntu 22.04) it has its version in its name.
# An explicit CC and CXX win.
if [[ -z ${CXX:-} && $(tool_major g++) -lt 12 ]] && command -v g++-12 >/dev/null; then
  export CC=gcc-12 CXX=g++-12
fi

# What clang-format and clang-tidy think changes with each release, so only this one is a gate.
clang_tools_version=14
# Prints the name under which release 14 of the tool $1 is installed, or nothing.
clang_tool() {
  local name
  for name in "$1-$clang_tools_version" "$1"; do
    if [[ $(tool_major "$name") == "$clang_tools_version" ]]; then
      echo "$name"
      return
    fi
  done
}

jobs=$(nproc)

# In a container the tree often belongs to another user; git then refuses to list it.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
