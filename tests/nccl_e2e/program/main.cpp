// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// nccl_test: NCCL's collectives with the options and the table of nccl-tests.
#include "tests/nccl_e2e/program/launch.h"
#include "tests/nccl_e2e/program/options.h"
#include "tests/nccl_e2e/program/rank.h"

int main(int argc, char** argv) {
  int status = 0;
  const auto options = nccl_test::parse_options(argc, argv, &status);
  if (!options) return status;
  return nccl_test::launch(options->job, [&](int rank, nccl_test::Shared* shared) {
    return nccl_test::run_rank(*options, rank, shared);
  });
}
