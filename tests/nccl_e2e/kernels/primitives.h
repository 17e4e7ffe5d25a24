// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The steps that every collective is made of: receive, reduce with own data, copy, send on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/nccl_e2e/kernels/block.h"
#include "tests/nccl_e2e/kernels/reduction.h"

namespace emunccl {

/// The user's side of a collective, and what is done to its elements.
struct Operands {
  const char* input = nullptr;
  char* output = nullptr;
  Reduction reduction;
  std::uint64_t argument = 0;
};

/// How a collective cuts what it moves in the Simple protocol.
struct Slicing {
  int slices_per_chunk = 1;
  int steps_per_slice = 1;
};

/// User buffers that a NIC reads and writes itself; the kernel then only keeps the counters.
struct NetRegistration {
  bool used = false;
  bool kernel_moves_nothing = false;
};

struct Transfer {
  static constexpr std::ptrdiff_t kNone = -1;

  bool receive = false;
  bool send = false;
  std::ptrdiff_t source = kNone;  ///< first element of the input that takes part
  std::ptrdiff_t target = kNone;  ///< first element of the output that is written
  std::ptrdiff_t count = 0;       ///< elements; what is not positive still takes its steps
  bool finish = false;            ///< the result is complete
};

class Primitives {
 public:
  virtual ~Primitives() = default;
  Primitives(const Primitives&) = delete;
  Primitives& operator=(const Primitives&) = delete;

  virtual void run(const Transfer& transfer) = 0;

 protected:
  Primitives(Block& block, const Operands& operands, const std::vector<int>& receive_from,
             const std::vector<int>& send_to);

  [[nodiscard]] std::size_t element_bytes() const { return operands_.reduction.element_bytes; }
  [[nodiscard]] const char* input_at(std::ptrdiff_t element) const;
  [[nodiscard]] char* output_at(std::ptrdiff_t element) const;

  /// All targets = the reduction of all sources. `own`: the first source is this rank's input.
  void combine(const std::vector<const char*>& sources, const std::vector<char*>& targets,
               std::size_t count, bool own, bool finish) const;

  Block& block_;
  const Operands operands_;
  std::vector<Connection> receive_;
  std::vector<Connection> send_;
};

std::unique_ptr<Primitives> make_simple(Block& block, const Operands& operands,
                                        const std::vector<int>& receive_from,
                                        const std::vector<int>& send_to, Slicing slicing,
                                        NetRegistration registration);
std::unique_ptr<Primitives> make_ll(Block& block, const Operands& operands,
                                    const std::vector<int>& receive_from,
                                    const std::vector<int>& send_to);
std::unique_ptr<Primitives> make_ll128(Block& block, const Operands& operands,
                                       const std::vector<int>& receive_from,
                                       const std::vector<int>& send_to);

}  // namespace emunccl
