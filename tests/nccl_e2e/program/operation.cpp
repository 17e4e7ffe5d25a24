// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The table of collectives.
#include "tests/nccl_e2e/program/operation.h"

namespace nccl_test {
namespace {

// ---- calls ----

ncclResult_t all_reduce(const Call& c) {
  return ncclAllReduce(c.input, c.output, c.count, c.type, c.operation, c.comm, c.stream);
}
ncclResult_t reduce(const Call& c) {
  return ncclReduce(c.input, c.output, c.count, c.type, c.operation, c.options.root, c.comm,
                    c.stream);
}
ncclResult_t broadcast(const Call& c) {
  return ncclBroadcast(c.input, c.output, c.count, c.type, c.options.root, c.comm, c.stream);
}
ncclResult_t all_gather(const Call& c) {
  return ncclAllGather(c.input, c.output, c.count, c.type, c.comm, c.stream);
}
ncclResult_t reduce_scatter(const Call& c) {
  return ncclReduceScatter(c.input, c.output, c.count, c.type, c.operation, c.comm, c.stream);
}

// Runs `inside` in a group; the group is ended whatever happened.
template <typename Inside>
ncclResult_t in_group(Inside inside) {
  if (const ncclResult_t result = ncclGroupStart(); result != ncclSuccess) return result;
  const ncclResult_t result = inside();
  const ncclResult_t ended = ncclGroupEnd();
  return result != ncclSuccess ? result : ended;
}

ncclResult_t exchange(const Call& c, const char* from, int to_rank, char* to, int from_rank) {
  const ncclResult_t sent = ncclSend(from, c.count, c.type, to_rank, c.comm, c.stream);
  if (sent != ncclSuccess) return sent;
  return ncclRecv(to, c.count, c.type, from_rank, c.comm, c.stream);
}

ncclResult_t send_receive(const Call& c) {
  const int next = (c.rank + 1) % c.ranks;
  const int previous = (c.rank + c.ranks - 1) % c.ranks;
  return in_group([&] {
    return exchange(c, static_cast<const char*>(c.input), next, static_cast<char*>(c.output),
                    previous);
  });
}

ncclResult_t all_to_all(const Call& c) {
  const std::size_t bytes = c.count * type_bytes(c.type);
  return in_group([&] {
    for (int peer = 0; peer < c.ranks; ++peer) {
      const std::size_t offset = static_cast<std::size_t>(peer) * bytes;
      const ncclResult_t result = exchange(c, static_cast<const char*>(c.input) + offset, peer,
                                           static_cast<char*>(c.output) + offset, peer);
      if (result != ncclSuccess) return result;
    }
    return ncclSuccess;
  });
}

// ---- what must come out ----

using Bytes = std::vector<char>;

Bytes expect_reduced(const Call& c, std::uint64_t seed) {
  return reduced(pattern_of(c, seed), 0, c.count);
}
Bytes expect_at_root(const Call& c, std::uint64_t seed) {
  return c.rank == c.options.root ? expect_reduced(c, seed) : Bytes{};
}
Bytes expect_broadcast(const Call& c, std::uint64_t seed) {
  return input_of(pattern_of(c, seed), c.options.root, 0, c.count);
}
Bytes expect_scattered(const Call& c, std::uint64_t seed) {
  return reduced(pattern_of(c, seed), static_cast<std::size_t>(c.rank) * c.count, c.count);
}
Bytes expect_from_previous(const Call& c, std::uint64_t seed) {
  return input_of(pattern_of(c, seed), (c.rank + c.ranks - 1) % c.ranks, 0, c.count);
}

// The same part of every rank's input, one after the other.
Bytes parts_of_all(const Call& c, std::uint64_t seed, std::size_t first) {
  Bytes all;
  for (int rank = 0; rank < c.ranks; ++rank) {
    const Bytes part = input_of(pattern_of(c, seed), rank, first, c.count);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}
Bytes expect_gathered(const Call& c, std::uint64_t seed) { return parts_of_all(c, seed, 0); }
Bytes expect_transposed(const Call& c, std::uint64_t seed) {
  return parts_of_all(c, seed, static_cast<std::size_t>(c.rank) * c.count);
}

double once(int) { return 1.0; }
double all_but_own(int ranks) { return static_cast<double>(ranks - 1) / ranks; }
double there_and_back(int ranks) { return 2.0 * all_but_own(ranks); }

const Collective kCollectives[] = {
    {"all_reduce", true, false, false, false, true, all_reduce, expect_reduced, there_and_back},
    {"broadcast", false, true, false, false, true, broadcast, expect_broadcast, once},
    {"reduce", true, true, false, false, true, reduce, expect_at_root, once},
    {"all_gather", false, false, false, true, true, all_gather, expect_gathered, all_but_own},
    {"reduce_scatter", true, false, true, false, true, reduce_scatter, expect_scattered,
     all_but_own},
    {"sendrecv", false, false, false, false, false, send_receive, expect_from_previous, once},
    {"alltoall", false, false, true, true, false, all_to_all, expect_transposed, all_but_own},
};

}  // namespace

Pattern pattern_of(const Call& call, std::uint64_t seed) {
  return {.reduces = call.collective->reduces,
          .type = call.type,
          .operation = call.operation,
          .ranks = call.ranks,
          .seed = seed};
}

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const Collective& c : kCollectives) names.emplace_back(c.name);
  return names;
}

const Collective& collective_named(const std::string& name) {
  for (const Collective& c : kCollectives) {
    if (name == c.name) return c;
  }
  return kCollectives[0];
}

}  // namespace nccl_test
