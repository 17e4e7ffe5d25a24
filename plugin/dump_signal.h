// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The signal that asks for the state of all communicators.
#pragma once

#include <atomic>
#include <cstdint>

#include "src/base/result.h"

namespace fabrail::plugin {

/// How often the signal has come.
const std::atomic<std::uint32_t>& dump_signals();

/// Makes signal `number` count in dump_signals() and do nothing else.
///
/// Errors  kInvalidArgument: not a signal that is free for applications to use. kUnsupported: the
///         process handles or ignores it; that stays as it is.
Status catch_dump_signal(int number);

}  // namespace fabrail::plugin
