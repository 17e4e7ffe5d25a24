// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The counter page of the reference plugin, so that readers of such pages can be tested.
#pragma once

#include <cstdint>

namespace fabrail::reference {

/// Maps the file that FABRAIL_COUNTERS names, if any. Counts nothing otherwise.
void open_counters(const char* path);

/// A message costs its sender one system call and eight bytes of header, and the receiver two
/// calls; what counts as a "libfabric call" elsewhere is a message here.
void count_send(uint64_t bytes);
void count_receive(uint64_t bytes);

}  // namespace fabrail::reference
