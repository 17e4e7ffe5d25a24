// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// What the emulated libraries do when they are loaded, before main.
#include "tests/sim/efa/abi/host.h"

namespace {

__attribute__((constructor)) void loaded() { fabrail::sim::prepare_sysfs(); }

}  // namespace
