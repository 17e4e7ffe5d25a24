// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Columns as in nccl-tests: size, time and bandwidths, out of place and in place.
#include "tests/nccl_e2e/program/table.h"

#include <cstdio>
#include <string>

namespace nccl_test {
namespace {

void print_measurement(const Call& call, const TableRow& row, int which) {
  const Collective& collective = *call.collective;
  if (which == 1 && !collective.in_place) {
    std::printf("  %8s  %6s  %6s  %6s", "-", "-", "-", "-");
    return;
  }
  const Measurement& m = row.measurements[which];
  const double algorithm = static_cast<double>(row.bytes) / m.seconds / 1e9;
  const double bus = algorithm * collective.bus_factor(call.ranks);
  const std::string wrong = call.options.check ? std::to_string(m.wrong) : "N/A";
  std::printf("  %8.1f  %6.3f  %6.3f  %6s", m.seconds * 1e6, algorithm, bus, wrong.c_str());
}

}  // namespace

void print_head(const Options& options) {
  int version = 0;
  ncclGetVersion(&version);
  std::printf("# NCCL %d, %d ranks on %d nodes, %d iterations\n", version, options.job.ranks(),
              options.job.nodes, options.iterations);
  std::printf("#%59s%-34s%s\n", "", "out-of-place", "in-place");
  std::printf("# %14s %11s %10s %8s %5s %4s", "", "size (B)", "count", "type", "redop", "root");
  for (int i = 0; i < 2; ++i) {
    std::printf("  %8s  %6s  %6s  %6s", "time(us)", "algbw", "busbw", "#wrong");
  }
  std::printf("\n");
  std::fflush(stdout);
}

void print_row(const Call& call, const TableRow& row) {
  const Collective& collective = *call.collective;
  const std::string root = collective.rooted ? std::to_string(call.options.root) : "-1";
  std::printf("  %14s %11zu %10zu %8s %5s %4s", collective.name, row.bytes, call.count,
              type_name(call.type), collective.reduces ? operation_name(call.operation) : "none",
              root.c_str());
  for (int which = 0; which < 2; ++which) print_measurement(call, row, which);
  std::printf("\n");
  std::fflush(stdout);
}

void print_foot(const Options& options, std::size_t wrong) {
  if (options.check) {
    std::printf("# Out of bounds values : %zu %s\n", wrong, wrong == 0 ? "OK" : "FAILED");
  } else {
    std::printf("# Out of bounds values : not checked\n");
  }
  std::fflush(stdout);
}

}  // namespace nccl_test
