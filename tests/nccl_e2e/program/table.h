// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The table that users of nccl-tests know.
#pragma once

#include <cstddef>

#include "tests/nccl_e2e/program/operation.h"
#include "tests/nccl_e2e/program/rank.h"

namespace nccl_test {

struct TableRow {
  std::size_t bytes = 0;
  Measurement measurements[2] = {};  ///< out of place, in place
};

void print_head(const Options& options);
void print_row(const Call& call, const TableRow& row);
void print_foot(const Options& options, std::size_t wrong);

}  // namespace nccl_test
