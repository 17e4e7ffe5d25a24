// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Ring and tree collectives, as sequences of transfers. The order of chunks is the GPU kernel's, as
// every rank must agree on it with its neighbours.
#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>

#include "tests/nccl_e2e/kernels/primitives.h"
#include "tests/nccl_e2e/kernels/work.h"

namespace emunccl {
namespace {

// This channel's share of the elements.
struct Part {
  std::ptrdiff_t all = 0;  ///< elements of the whole collective (per rank)
  std::ptrdiff_t offset = 0;
  std::ptrdiff_t count = 0;
  std::ptrdiff_t chunk = 0;
};

struct Collective {
  Block& block;
  const Function& function;
  ncclDevWorkColl work;
  Operands operands;
  NetRegistration registration;
  Part part;

  [[nodiscard]] const ncclRing& ring() const { return block.channel.ring; }
  [[nodiscard]] int ranks() const { return block.comm.nRanks; }
  /// The rank that is `distance` places after this one in the ring.
  [[nodiscard]] int ring_rank(int distance) const {
    return reach(ring().userRanks)[distance % ranks()];
  }

  std::unique_ptr<Primitives> connect(const std::vector<int>& receive_from,
                                      const std::vector<int>& send_to) const;
};

// CHUNKSTEPS and SLICESTEPS of NCCL's collectives.h; trees, LL and LL128 cut nothing.
Slicing slicing_of(const Function& function) {
  if (function.algorithm != NCCL_ALGO_RING) return {};
  constexpr Slicing kBig{ALLREDUCE_CHUNKSTEPS / ALLREDUCE_SLICESTEPS, ALLREDUCE_SLICESTEPS};
  constexpr Slicing kSmall{BROADCAST_CHUNKSTEPS / BROADCAST_SLICESTEPS, BROADCAST_SLICESTEPS};
  static_assert(ALLGATHER_SLICESTEPS == ALLREDUCE_SLICESTEPS);
  static_assert(REDUCESCATTER_SLICESTEPS == ALLREDUCE_SLICESTEPS);
  static_assert(REDUCE_SLICESTEPS == BROADCAST_SLICESTEPS);
  const bool small =
      function.collective == ncclFuncBroadcast || function.collective == ncclFuncReduce;
  return small ? kSmall : kBig;
}

std::unique_ptr<Primitives> Collective::connect(const std::vector<int>& receive_from,
                                                const std::vector<int>& send_to) const {
  if (function.protocol == NCCL_PROTO_LL) return make_ll(block, operands, receive_from, send_to);
  if (function.protocol == NCCL_PROTO_LL128) {
    return make_ll128(block, operands, receive_from, send_to);
  }
  const Slicing slicing = registration.kernel_moves_nothing ? Slicing{} : slicing_of(function);
  return make_simple(block, operands, receive_from, send_to, slicing, registration);
}

Part part_of(const ncclDevWorkColl& work, int channel, int protocol, std::size_t element_bytes) {
  Part p;
  ncclDevWorkColl copy = work;
  ncclCollCbdPart(&copy, static_cast<std::uint32_t>(channel), protocol,
                  static_cast<int>(element_bytes), &p.all, &p.offset, &p.count, &p.chunk);
  return p;
}

std::uint64_t argument_of(const ncclDevWorkColl& work, const Reduction& reduction) {
  if (reduction.argument_bytes == 0 || work.redOpArgIsPtr == 0) return work.redOpArg;
  std::uint64_t argument = 0;
  const auto* where = reinterpret_cast<void*>(work.redOpArg);
  std::memcpy(&argument, emugpu_kernel_address(where), reduction.argument_bytes);
  return argument;
}

Reduction reduction_for(const Function& function) {
  const bool moves_only =
      function.collective == ncclFuncAllGather || function.collective == ncclFuncBroadcast;
  if (moves_only) return {};
  const auto found = find_reduction(function.operation, function.type);
  if (!found) refuse("reduction %d on type %d", function.operation, function.type);
  return *found;
}

NetRegistration registration_for(const Function& function, const ncclDevWorkColl& work) {
  const bool used = net_registered(work);
  const bool whole = used && one_rank_per_node(work) && function.collective == ncclFuncAllGather;
  return {.used = used, .kernel_moves_nothing = whole};
}

// Calls body(first element, count) for each chunk of the part.
template <typename Body>
void for_each_chunk(const Part& part, Body body) {
  for (std::ptrdiff_t done = 0; done < part.count; done += part.chunk) {
    body(part.offset + done, std::min(part.chunk, part.count - done));
  }
}

// Two rounds of the ring: partial sums travel once around, then the results.
void run_ring_all_reduce(const Collective& c) {
  const int n = c.ranks();
  const auto element_bytes = static_cast<std::ptrdiff_t>(c.operands.reduction.element_bytes);
  const auto primitives = c.connect({c.ring().prev}, {c.ring().next});
  std::ptrdiff_t chunk = c.part.chunk;
  for (std::ptrdiff_t done = 0; done < c.part.count; done += n * chunk) {
    const std::ptrdiff_t rest = c.part.count - done;
    if (rest < n * chunk) {
      const std::ptrdiff_t unit = 16 / element_bytes;
      chunk = ((rest + n - 1) / n + unit - 1) / unit * unit;
    }
    // One step on the chunk that is `distance` places after this rank's own.
    const auto step = [&](int distance, Transfer transfer, bool own, bool store) {
      const std::ptrdiff_t first = (c.ring().index + distance) % n * chunk;
      const std::ptrdiff_t element = c.part.offset + done + first;
      if (own) transfer.source = element;
      if (store) transfer.target = element;
      transfer.count = std::min(chunk, rest - first);
      primitives->run(transfer);
    };
    step(n - 1, {.send = true}, true, false);
    for (int j = 2; j < n; ++j) step(n - j, {.receive = true, .send = true}, true, false);
    step(0, {.receive = true, .send = true, .finish = true}, true, true);
    for (int j = 1; j < n - 1; ++j) step(n - j, {.receive = true, .send = true}, false, true);
    step(1, {.receive = true}, false, true);
  }
}

void run_ring_all_gather(const Collective& c) {
  const int n = c.ranks();
  const auto primitives = c.connect({c.ring().prev}, {c.ring().next});
  const auto slot = [&](int distance) { return c.ring_rank(distance) * c.part.all; };
  for_each_chunk(c.part, [&](std::ptrdiff_t first, std::ptrdiff_t count) {
    const std::ptrdiff_t own = first + slot(0);
    const bool in_place = c.operands.input + first == c.operands.output + own;
    primitives->run({.send = true,
                     .source = first,
                     .target = in_place ? Transfer::kNone : own,
                     .count = count});
    for (int j = 1; j < n - 1; ++j) {
      primitives->run(
          {.receive = true, .send = true, .target = first + slot(n - j), .count = count});
    }
    primitives->run({.receive = true, .target = first + slot(1), .count = count});
  });
}

void run_ring_reduce_scatter(const Collective& c) {
  const int n = c.ranks();
  const auto primitives = c.connect({c.ring().prev}, {c.ring().next});
  const auto slot = [&](int distance) { return c.ring_rank(distance) * c.part.all; };
  for_each_chunk(c.part, [&](std::ptrdiff_t first, std::ptrdiff_t count) {
    primitives->run({.send = true, .source = first + slot(n - 1), .count = count});
    for (int j = 2; j < n; ++j) {
      primitives->run(
          {.receive = true, .send = true, .source = first + slot(n - j), .count = count});
    }
    primitives->run({.receive = true,
                     .source = first + slot(0),
                     .target = first,
                     .count = count,
                     .finish = true});
  });
}

void run_ring_broadcast(const Collective& c) {
  const int root = static_cast<int>(c.work.root);
  const bool is_root = c.ring_rank(0) == root;
  const bool is_last = c.ring_rank(1) == root;
  const bool stored =
      c.operands.input == c.operands.output || (c.registration.used && one_rank_per_node(c.work));
  const auto primitives = c.connect({c.ring().prev}, {c.ring().next});
  for_each_chunk(c.part, [&](std::ptrdiff_t first, std::ptrdiff_t count) {
    if (is_root) {
      primitives->run({.send = true,
                       .source = first,
                       .target = stored ? Transfer::kNone : first,
                       .count = count});
    } else {
      primitives->run({.receive = true, .send = !is_last, .target = first, .count = count});
    }
  });
}

void run_ring_reduce(const Collective& c) {
  const int root = static_cast<int>(c.work.root);
  const bool is_root = c.block.comm.rank == root;
  const bool is_first = c.ring_rank(c.ranks() - 1) == root;
  const auto primitives = c.connect({c.ring().prev}, {c.ring().next});
  for_each_chunk(c.part, [&](std::ptrdiff_t first, std::ptrdiff_t count) {
    primitives->run({.receive = !is_first,
                     .send = !is_root,
                     .source = first,
                     .target = is_root ? first : Transfer::kNone,
                     .count = count,
                     .finish = is_root});
  });
}

// Sums go up while results come down: two groups of threads on a GPU, two threads here.
void run_tree_all_reduce(const Collective& c) {
  const ncclTree& tree = c.block.channel.tree;
  const std::vector<int> down(tree.down, tree.down + NCCL_MAX_TREE_ARITY);
  const bool is_leaf = down[0] == -1;
  const auto each = [&](const std::unique_ptr<Primitives>& primitives, Transfer transfer, bool own,
                        bool store) {
    for_each_chunk(c.part, [&](std::ptrdiff_t first, std::ptrdiff_t count) {
      transfer.source = own ? first : Transfer::kNone;
      transfer.target = store ? first : Transfer::kNone;
      transfer.count = count;
      primitives->run(transfer);
    });
  };
  if (tree.up == -1) {
    const auto root = c.connect(down, down);
    return each(root, {.receive = true, .send = true, .finish = true}, true, true);
  }
  std::thread broadcast([&] {
    const auto primitives = c.connect({tree.up}, down);
    each(primitives, {.receive = true, .send = !is_leaf}, false, true);
  });
  {
    const auto primitives = c.connect(down, {tree.up});
    each(primitives, {.receive = !is_leaf, .send = true}, true, false);
  }
  broadcast.join();
}

// The root's own copy, where the NIC sends straight from the input.
void copy_registered_root(const Collective& c) {
  const bool copies = c.function.collective == ncclFuncBroadcast && c.registration.used &&
                      one_rank_per_node(c.work) &&
                      c.ring_rank(0) == static_cast<int>(c.work.root) &&
                      c.operands.input != c.operands.output;
  if (!copies) return;
  std::memcpy(c.operands.output + c.part.offset, c.operands.input + c.part.offset,
              static_cast<std::size_t>(c.part.count));
}

// All-gather of registered buffers, one rank a node: only this rank's own part is copied.
void copy_registered_part(Collective* c) {
  if (!c->registration.kernel_moves_nothing) return;
  c->part.chunk = std::ptrdiff_t{1} << 30;
  char* own = c->operands.output + c->part.offset + c->ring_rank(0) * c->part.all;
  const char* from = c->operands.input + c->part.offset;
  if (from != own) std::memmove(own, from, static_cast<std::size_t>(c->part.count));
}

}  // namespace

void run_collective(Block& block, const Function& function, const ncclDevWorkColl& work) {
  if (peer_registered(work)) refuse("user buffers registered with a peer GPU");
  const Reduction reduction = reduction_for(function);
  Collective c{.block = block,
               .function = function,
               .work = work,
               .operands = {.input = reach_bytes(work.sendbuff),
                            .output = reach_bytes(work.recvbuff),
                            .reduction = reduction,
                            .argument = argument_of(work, reduction)},
               .registration = registration_for(function, work),
               .part = part_of(work, block.index, function.protocol, reduction.element_bytes)};
  copy_registered_part(&c);
  copy_registered_root(c);
  switch (function.collective) {
    case ncclFuncAllReduce:
      return function.algorithm == NCCL_ALGO_TREE ? run_tree_all_reduce(c) : run_ring_all_reduce(c);
    case ncclFuncAllGather:
      return run_ring_all_gather(c);
    case ncclFuncReduceScatter:
      return run_ring_reduce_scatter(c);
    case ncclFuncBroadcast:
      return run_ring_broadcast(c);
    case ncclFuncReduce:
      return run_ring_reduce(c);
    default:
      refuse("collective %d", function.collective);
  }
}

}  // namespace emunccl
