// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Lines on standard error: what the emulated GPU refuses, and on request what it is asked.
#pragma once

namespace emugpu {

enum LogLevel { kLogError = 0, kLogRefusal = 1, kLogLaunch = 2, kLogCall = 3 };

/// Writes one line if EMUGPU_LOG asks for this level.
void log(LogLevel level, const char* format, ...) __attribute__((format(printf, 2, 3)));

/// Every public driver function begins with it: `trace(__func__)`.
inline void trace(const char* function) { log(kLogCall, "%s", function); }

}  // namespace emugpu
