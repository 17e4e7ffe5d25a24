// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Which process this is, and whether another one on this machine still lives.
#pragma once

#include <string>
#include <string_view>

#include "src/transport/messages.h"

namespace fabrail::transport {

/// This process, as its peers will know it.   Source  proc(5): boot_id, ns/pid, stat.
ProcessIdentity this_process();

/// Whether `peer` is a process of this machine and pid namespace that has ended (a zombie has).
/// False where that cannot be known. Reads /proc: never on the data path.
bool has_ended(const ProcessIdentity& peer, const ProcessIdentity& self);

/// This machine's name, for people, with ", rank N" if a rank is known. As long as peers take at
/// most.
std::string host_name(std::string_view rank);

/// A random number that peers cannot guess.
std::uint64_t random_number();

}  // namespace fabrail::transport
