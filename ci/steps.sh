# SPDX-License-Identifier: Apache-2.0
# Copyright the fabrail authors
# Sourced by ci/test: runs its steps, one line of output each, and stops at the first that fails.
# shellcheck shell=bash

log_dir=build/ci
passed=0 failed=0 skipped=0
second_tries=$log_dir/second-tries
max_second_tries=3
background_pid='' background_name='' background_started=0

# Prints one finished step: name, result, seconds.
report() { printf '%-44s %-7s %5d s\n' "$1" "$2" "$3"; }

log_of() { echo "$log_dir/${1// /-}.log"; }

# Prints what ctest counted in step $1 as 'tests failures skipped', nothing if it ran no tests.
ctest_counts() {
  local xml=$log_dir/${1// /-}.xml
  [[ -e $xml ]] || return 0
  grep -A 10 '<testsuite ' "$xml" | tr '\n\t' '  ' |
    sed -nE 's/.* tests="([0-9]+)" .*failures="([0-9]+)" .*skipped="([0-9]+)".*/\1 \2 \3/p'
}

# Adds step $1 to the totals: its tests if it ran any, otherwise itself as one. $2 is its exit status.
count() {
  local tests failures ignored
  read -r tests failures ignored <<<"$(ctest_counts "$1")"
  if [[ -z ${tests:-} ]]; then
    tests=1 failures=$(($2 != 0)) ignored=0
  elif [[ $2 == 0 ]]; then
    failures=0  # in a first try
  elif [[ $2 != 0 && $failures == 0 ]]; then
    tests=$((tests + 1)) failures=1  # ctest itself failed
  fi
  passed=$((passed + tests - failures - ignored))
  failed=$((failed + failures))
  skipped=$((skipped + ignored))
}

# Runs the tests that failed in step $1 once more, with ctest and its arguments as $2...: fails if one
# fails again, if they are many, or if ctest itself failed. What a busy machine upsets once must not stop
# everybody's work, but it may as well be a rare bug: it is kept, with its output, for the end.
second_try() {
  local name=$1 failures
  shift
  failures=$("$@" --rerun-failed --show-only | sed -nE 's/^ *Test +#[0-9]+: //p')
  [[ -n $failures ]] && (($(wc -l <<<"$failures") <= max_second_tries)) || return 1
  printf '\n--- a second try of what failed ---\n'
  "$@" --rerun-failed || return 1
  printf '%s:\n%s\n' "$name" "$failures" >>"$second_tries"
  show_failures "$(log_of "$name")" >>"$second_tries"
}

# The last output of ci/test, always.
summary() {
  local ignored=''
  if [[ -s $second_tries ]]; then
    printf '\n--- failed once, passed in a second try; each is to be explained ---\n'
    cat "$second_tries"
  fi
  [[ $skipped == 0 ]] || ignored=", $skipped skipped"
  printf '\n%d passed, %d failed%s\n' "$passed" "$failed" "$ignored"
}

stop_background() {
  [[ -z $background_pid ]] || kill -- "-$background_pid" 2>/dev/null || true
  background_pid=''
}
trap stop_background EXIT

# What tests say when they fail, without what passed before and after: the end of a long log tells
# only their names.
show_failures() {
  grep -hE -A 8 ': Failure$|ERROR: |WARNING: ThreadSanitizer|runtime error:|^\[  FAILED  \]|\(Failed\)$' "$1" |
    cut -c 1-300 | tail -n 60
}

# Ends ci/test because step $1 failed with status $2.
fail_step() {
  local log
  log=$(log_of "$1")
  printf '\n--- end of %s ---\n' "$log"
  tail -n 80 "$log"
  printf '\n--- failures in %s ---\n' "$log"
  show_failures "$log"
  printf -- '--- step "%s" failed with status %d; all its output is in %s ---\n' "$1" "$2" "$log"
  summary
  exit 1
}

finish() {
  local name=$1 status=$2 seconds=$3
  count "$name" "$status"
  if [[ $status == 0 ]]; then
    report "$name" ok "$seconds"
  else
    report "$name" FAILED "$seconds"
    fail_step "$name" "$status"
  fi
}

# step NAME COMMAND...: runs the command with its output in build/ci/NAME.log. A function among the
# commands must return non-zero by itself: errexit does not reach into it.
step() {
  local name=$1 started=$SECONDS status=0
  shift
  rm -f "$log_dir/${name// /-}.xml"
  "$@" >"$(log_of "$name")" 2>&1 || status=$?
  finish "$name" "$status" "$((SECONDS - started))"
}

# background NAME COMMAND...: starts a step that takes only the time that others leave; one at a time.
background() {
  background_name=$1
  shift
  set -m  # a process group of its own, so that stop_background reaches its children
  { renice -n 19 "$BASHPID" && "$@"; } >"$(log_of "$background_name")" 2>&1 &
  background_pid=$!
  background_started=$SECONDS
  set +m
}

# Waits for the step in the background; its seconds are from its start to now.
join_background() {
  local status=0 name=$background_name
  wait "$background_pid" || status=$?
  background_pid=''
  finish "$name" "$status" "$((SECONDS - background_started))"
}

# skip NAME REASON: says that a step does not run here.
skip() { printf '%-44s skipped: %s\n' "$1" "$2"; }
