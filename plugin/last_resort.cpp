// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "plugin/last_resort.h"

#include <signal.h>

#include <atomic>

namespace fabrail::plugin {

namespace {

// Several threads may meet errors at once, and a process that handles the signal meets more.
constinit std::atomic<bool> raised{false};

}  // namespace

// A signal, not abort(): a handler that writes stacks, and lets the process live, gets its chance.
void raise_abort() {
  if (!raised.exchange(true)) raise(SIGABRT);
}

}  // namespace fabrail::plugin
