// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Counts torn lines.
#include "tests/nccl_e2e/kernels/lines.h"

#include <atomic>
#include <cstdio>

namespace {

std::atomic<std::uint64_t> torn_lines{0};

}  // namespace

void emunccl::report_torn(const char* protocol, std::uint64_t step) {
  if (torn_lines.fetch_add(1) != 0) return;
  std::fprintf(stderr, "[emugpu] torn %s line: the flag of step %llu is there, its data are not\n",
               protocol, static_cast<unsigned long long>(step));
}

// NCCL's own version script lets out what begins with its name.
std::uint64_t ncclEmulatedTornLines() { return torn_lines.load(); }
