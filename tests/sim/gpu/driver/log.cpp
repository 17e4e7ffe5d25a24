// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Log lines carry the process and thread, since ranks of a job share one terminal.
#include "tests/sim/gpu/driver/log.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>

#include "tests/sim/gpu/driver/settings.h"

namespace emugpu {

void log(LogLevel level, const char* format, ...) {
  if (level > settings().log_level) return;
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "[emugpu %d:%ld] %s\n", getpid(), syscall(SYS_gettid), line);
}

}  // namespace emugpu
