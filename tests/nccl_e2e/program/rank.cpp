// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Buffers, iterations and comparison, for one rank.
#include "tests/nccl_e2e/program/rank.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "tests/nccl_e2e/program/device.h"
#include "tests/nccl_e2e/program/operation.h"
#include "tests/nccl_e2e/program/table.h"
#include "tests/nccl_e2e/program/values.h"

namespace nccl_test {
namespace {

using Bytes = std::vector<char>;

constexpr int kCheckedRuns = 2;

class Registration {
 public:
  Registration(ncclComm_t comm, const Buffer& buffer) : comm_(comm) {
    require(ncclCommRegister(comm, buffer.at(0), buffer.bytes(), &handle_), "ncclCommRegister");
  }
  ~Registration() { ncclCommDeregister(comm_, handle_); }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  ncclComm_t comm_;
  void* handle_ = nullptr;
};

// The buffers of one row: one of both if in place.
class Row {
 public:
  Row(const Call& call, bool in_place)
      : collective_(*call.collective), call_(call), in_place_(in_place) {
    const Collective& collective = collective_;
    const std::size_t part = call.count * type_bytes(call.type);
    const auto ranks = static_cast<std::size_t>(call.ranks);
    const auto own = static_cast<std::size_t>(call.rank) * part;
    input_bytes_ = collective.input_per_rank ? part * ranks : part;
    output_bytes_ = collective.output_per_rank ? part * ranks : part;
    const bool splits = collective.input_per_rank != collective.output_per_rank;
    add_buffer(in_place ? std::max(input_bytes_, output_bytes_) : input_bytes_);
    if (!in_place) add_buffer(output_bytes_);
    const Buffer& first = *buffers_.front();
    const Buffer& last = *buffers_.back();
    input_ = first.at(in_place && splits && collective.output_per_rank ? own : 0);
    output_ = last.at(in_place && splits && collective.input_per_rank ? own : 0);
    call_.input = input_;
    call_.output = output_;
  }

  double time_iterations(Shared* shared) {
    for (int i = 0; i < call_.options.warmup; ++i) start();
    finish();
    // Who only sends would begin long before the others have come, and count their way.
    shared->wait_for_all();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < call_.options.iterations; ++i) start();
    finish();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    return passed.count() / call_.options.iterations;
  }

  std::size_t checked_run(std::uint64_t seed) {
    for (const auto& buffer : buffers_) buffer->clear();
    const Pattern pattern = pattern_of(call_, seed);
    const std::size_t elements = input_bytes_ / type_bytes(call_.type);
    const Bytes input = input_of(pattern, call_.rank, 0, elements);
    copy_to_device(input_, input);
    start();
    finish();
    const Bytes wanted = collective_.expect(call_, seed);
    Bytes got = copy_from_device(output_, wanted.size());
    if (call_.options.corrupt && !got.empty()) got[got.size() / 2] ^= 0x10;
    std::size_t wrong = count_wrong(pattern, got, wanted);
    if (!in_place_) wrong += changed_input(input);
    for (const auto& buffer : buffers_) wrong += buffer->spoiled_guard_bytes();
    return wrong;
  }

 private:
  void add_buffer(std::size_t bytes) {
    buffers_.push_back(std::make_unique<Buffer>(bytes));
    if (!call_.options.register_buffers) return;
    registrations_.push_back(std::make_unique<Registration>(call_.comm, *buffers_.back()));
  }
  void start() const { require(collective_.run(call_), collective_.name); }
  void finish() const { require(cudaStreamSynchronize(call_.stream), collective_.name); }

  [[nodiscard]] std::size_t changed_input(const Bytes& input) const {
    return copy_from_device(input_, input.size()) == input ? 0 : 1;
  }

  const Collective& collective_;
  Call call_;
  const bool in_place_;
  std::size_t input_bytes_ = 0;
  std::size_t output_bytes_ = 0;
  char* input_ = nullptr;
  char* output_ = nullptr;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<std::unique_ptr<Registration>> registrations_;
};

Measurement measure(const Call& call, bool in_place, Shared* shared) {
  Row row(call, in_place);
  const std::size_t torn = torn_lines();
  Measurement m{.seconds = row.time_iterations(shared)};
  for (int run = 0; call.options.check && run < kCheckedRuns; ++run) {
    m.wrong += row.checked_run(static_cast<std::uint64_t>(run) + 1);
  }
  m.wrong += torn_lines() - torn;  // also those of iterations whose result nobody looks at
  return m;
}

// Everybody waits until all have measured, and again until all have seen the sum.
Measurement over_all_ranks(Shared* shared, int rank, int ranks, const Measurement& own) {
  shared->measurements[rank] = own;
  shared->wait_for_all();
  Measurement all;
  for (int i = 0; i < ranks; ++i) {
    all.seconds = std::max(all.seconds, shared->measurements[i].seconds);
    all.wrong += shared->measurements[i].wrong;
  }
  shared->wait_for_all();
  return all;
}

std::size_t run_row(Call call, std::size_t bytes, Shared* shared) {
  const Collective& collective = *call.collective;
  const bool shares = collective.input_per_rank || collective.output_per_rank;
  const std::size_t unit =
      type_bytes(call.type) * (shares ? static_cast<std::size_t>(call.ranks) : 1);
  call.count = bytes / unit;
  TableRow row{.bytes = call.count * unit};
  for (const bool in_place : {false, true}) {
    if (in_place && !collective.in_place) continue;
    const Measurement own = measure(call, in_place, shared);
    row.measurements[in_place ? 1 : 0] = over_all_ranks(shared, call.rank, call.ranks, own);
  }
  if (call.rank == 0) print_row(call, row);
  return row.measurements[0].wrong + row.measurements[1].wrong;
}

std::size_t run_sizes(const Call& call, Shared* shared) {
  const Options& options = call.options;
  std::size_t wrong = 0;
  for (std::size_t bytes = options.least_bytes; bytes <= options.most_bytes;
       bytes *= options.factor) {
    wrong += run_row(call, bytes, shared);
  }
  return wrong;
}

std::size_t run_reductions(Call call, Shared* shared) {
  if (!call.collective->reduces) return run_sizes(call, shared);
  std::size_t wrong = 0;
  for (const ncclRedOp_t operation : call.options.operations) {
    call.operation = operation;
    wrong += run_sizes(call, shared);
  }
  return wrong;
}

std::size_t run_all(Call call, Shared* shared) {
  std::size_t wrong = 0;
  for (const std::string& name : call.options.collectives) {
    call.collective = &collective_named(name);
    for (const ncclDataType_t type : call.options.types) {
      call.type = type;
      wrong += run_reductions(call, shared);
    }
  }
  return wrong;
}

}  // namespace

int run_rank(const Options& options, int rank, Shared* shared) {
  Call call{.options = options, .rank = rank, .ranks = options.job.ranks()};
  bind_gpu(options.job, rank);
  call.comm = open_communicator(options.job, rank, shared);
  require(cudaStreamCreateWithFlags(&call.stream, cudaStreamNonBlocking), "cudaStreamCreate");
  if (rank == 0) print_head(options);
  const std::size_t wrong = run_all(call, shared);
  if (rank == 0) print_foot(options, wrong);
  require(cudaStreamDestroy(call.stream), "cudaStreamDestroy");
  require(ncclCommFinalize(call.comm), "ncclCommFinalize");
  require(ncclCommDestroy(call.comm), "ncclCommDestroy");
  return wrong == 0 ? 0 : kWrongValues;
}

}  // namespace nccl_test
