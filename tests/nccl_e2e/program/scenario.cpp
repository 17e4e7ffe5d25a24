// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// nccl_scenario: what jobs do beside collectives: many communicators, splits, aborts, and a rank
// that dies. Each scenario is a function that every rank runs.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/nccl_e2e/program/device.h"
#include "tests/nccl_e2e/program/launch.h"
#include "tests/nccl_e2e/program/values.h"

namespace nccl_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kCount = 30000;
constexpr int kCommunicators = 20;
constexpr int kUsage = 2;
// Far beyond what NCCL takes to notice; a rank that waits longer waits for ever.
constexpr std::chrono::seconds kDeadline{100};

struct Rank {
  Job job;
  int rank;
  Shared* shared;
  cudaStream_t stream;

  [[nodiscard]] bool is_last() const { return rank == job.ranks() - 1; }
};

struct Sum {
  explicit Sum(std::size_t count) : buffer(count * sizeof(float)) {}

  void start(ncclComm_t comm, cudaStream_t stream) {
    const std::size_t count = buffer.bytes() / sizeof(float);
    require(ncclAllReduce(buffer.at(0), buffer.at(0), count, ncclFloat32, ncclSum, comm, stream),
            "ncclAllReduce");
  }

  Buffer buffer;
};

// An all-reduce over `comm`, in which this rank has number `number` of `ranks`.  Returns  0, or
// the status for wrong values.
int check_sum(ncclComm_t comm, int number, int ranks, std::uint64_t seed, cudaStream_t stream) {
  const Pattern pattern{.reduces = true, .ranks = ranks, .seed = seed};
  Sum sum(kCount);
  copy_to_device(sum.buffer.at(0), input_of(pattern, number, 0, kCount));
  sum.start(comm, stream);
  require(cudaStreamSynchronize(stream), "ncclAllReduce");
  const auto got = copy_from_device(sum.buffer.at(0), sum.buffer.bytes());
  const std::size_t wrong = count_wrong(pattern, got, reduced(pattern, 0, kCount));
  if (wrong > 0) std::fprintf(stderr, "rank %d: %zu wrong values\n", number, wrong);
  return wrong == 0 ? 0 : kWrongValues;
}

int check_sum_of_all(const Rank& r, ncclComm_t comm, std::uint64_t seed) {
  return check_sum(comm, r.rank, r.job.ranks(), seed, r.stream);
}

void close_communicator(ncclComm_t comm) {
  require(ncclCommFinalize(comm), "ncclCommFinalize");
  require(ncclCommDestroy(comm), "ncclCommDestroy");
}

int run_many(const Rank& r) {
  for (int i = 0; i < kCommunicators; ++i) {
    ncclComm_t comm = open_communicator(r.job, r.rank, r.shared);
    const int status = check_sum_of_all(r, comm, static_cast<std::uint64_t>(i) + 1);
    if (status != 0) return status;
    close_communicator(comm);
  }
  return 0;
}

// Even and odd ranks go apart, and the parent goes on.
int run_split(const Rank& r) {
  ncclComm_t all = open_communicator(r.job, r.rank, r.shared);
  ncclComm_t half = nullptr;
  require(ncclCommSplit(all, r.rank % 2, r.rank, &half, nullptr), "ncclCommSplit");
  const int size = (r.job.ranks() + 1 - r.rank % 2) / 2;
  const int in_half = check_sum(half, r.rank / 2, size, 1, r.stream);
  const int in_all = check_sum_of_all(r, all, 2);
  close_communicator(half);
  close_communicator(all);
  return in_half != 0 ? in_half : in_all;
}

// The last rank stays away from a collective; everybody aborts and starts anew.
int run_abort(const Rank& r) {
  ncclComm_t comm = open_communicator(r.job, r.rank, r.shared);
  if (const int status = check_sum_of_all(r, comm, 1); status != 0) return status;
  Sum unfinished(std::size_t{1} << 20);
  if (!r.is_last()) {
    unfinished.start(comm, r.stream);
    if (cudaStreamQuery(r.stream) != cudaErrorNotReady) return kFailed;
  }
  r.shared->wait_for_all();
  require(ncclCommAbort(comm), "ncclCommAbort");
  require(cudaStreamSynchronize(r.stream), "the stream of an aborted collective");
  comm = open_communicator(r.job, r.rank, r.shared);
  const int status = check_sum_of_all(r, comm, 2);
  close_communicator(comm);
  return status;
}

// Polls as a job's watchdog would.  Returns  the asynchronous error, or success at the deadline.
ncclResult_t wait_for_error(ncclComm_t comm) {
  const auto deadline = Clock::now() + kDeadline;
  ncclResult_t error = ncclSuccess;
  while (error == ncclSuccess && Clock::now() < deadline) {
    require(ncclCommGetAsyncError(comm, &error), "ncclCommGetAsyncError");
    if (error == ncclInProgress) error = ncclSuccess;
    std::this_thread::yield();
  }
  return error;
}

// The last rank dies in the middle of a collective; the others are told, and can abort.
int run_death(const Rank& r) {
  ncclComm_t comm = open_communicator(r.job, r.rank, r.shared);
  if (const int status = check_sum_of_all(r, comm, 1); status != 0) return status;
  if (r.is_last()) _exit(0);
  Sum unfinished(std::size_t{1} << 20);
  unfinished.start(comm, r.stream);
  const ncclResult_t error = wait_for_error(comm);
  std::printf("rank %d: async error '%s'\n", r.rank, ncclGetErrorString(error));
  if (error == ncclSuccess) return kFailed;
  require(ncclCommAbort(comm), "ncclCommAbort");
  require(cudaStreamSynchronize(r.stream), "the stream of an aborted collective");
  return 0;
}

struct Scenario {
  const char* name;
  int (*run)(const Rank& rank);
};
constexpr Scenario kScenarios[] = {
    {"many", run_many}, {"split", run_split}, {"abort", run_abort}, {"death", run_death}};

int run_as(const Scenario& scenario, const Job& job, int rank, Shared* shared) {
  bind_gpu(job, rank);
  Rank r{.job = job, .rank = rank, .shared = shared, .stream = nullptr};
  require(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking), "cudaStreamCreate");
  const int status = scenario.run(r);
  if (status == 0) std::printf("rank %d: %s done\n", rank, scenario.name);
  return status;
}

int usage() {
  std::fprintf(stderr, "usage: nccl_scenario NODES many|split|abort|death\n");
  return kUsage;
}

}  // namespace
}  // namespace nccl_test

int main(int argc, char** argv) {
  using namespace nccl_test;
  if (argc != 3) return usage();
  const Job job{.nodes = std::atoi(argv[1])};
  for (const Scenario& scenario : kScenarios) {
    if (std::string(argv[2]) != scenario.name || job.nodes < 2) continue;
    return launch(job,
                  [&](int rank, Shared* shared) { return run_as(scenario, job, rank, shared); });
  }
  return usage();
}
