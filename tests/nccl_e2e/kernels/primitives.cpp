// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What all protocols share: peers, user buffers, and the reduction of several sources.
#include "tests/nccl_e2e/kernels/primitives.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace emunccl {
namespace {

void copy_to_all(const char* source, const std::vector<char*>& targets, std::size_t bytes) {
  for (char* target : targets) {
    if (target != source) std::memcpy(target, source, bytes);
  }
}

}  // namespace

Primitives::Primitives(Block& block, const Operands& operands, const std::vector<int>& receive_from,
                       const std::vector<int>& send_to)
    : block_(block), operands_(operands) {
  for (const int rank : receive_from) {
    if (rank >= 0) receive_.push_back(block.receive_connection(rank, 0));
  }
  for (const int rank : send_to) {
    if (rank >= 0) send_.push_back(block.send_connection(rank, 0));
  }
}

const char* Primitives::input_at(std::ptrdiff_t element) const {
  return operands_.input + element * static_cast<std::ptrdiff_t>(element_bytes());
}

char* Primitives::output_at(std::ptrdiff_t element) const {
  return operands_.output + element * static_cast<std::ptrdiff_t>(element_bytes());
}

// A piece at a time, through a buffer, so that input and output may be the same memory.
void Primitives::combine(const std::vector<const char*>& sources, const std::vector<char*>& targets,
                         std::size_t count, bool own, bool finish) const {
  const Reduction& r = operands_.reduction;
  const bool begins = own && r.begin != nullptr;
  const bool finishes = finish && r.finish != nullptr;
  if (sources.size() == 1 && !begins && !finishes) {
    return copy_to_all(sources[0], targets, count * r.element_bytes);
  }
  std::array<char, 16384> piece;
  const std::size_t most = piece.size() / r.element_bytes;
  for (std::size_t first = 0; first < count; first += most) {
    const std::size_t n = std::min(most, count - first);
    const std::size_t offset = first * r.element_bytes;
    std::memcpy(piece.data(), sources[0] + offset, n * r.element_bytes);
    if (begins) r.begin(piece.data(), n, operands_.argument);
    for (std::size_t s = 1; s < sources.size(); ++s) {
      r.combine(piece.data(), sources[s] + offset, n, operands_.argument);
    }
    if (finishes) r.finish(piece.data(), n, operands_.argument);
    for (char* target : targets) std::memcpy(target + offset, piece.data(), n * r.element_bytes);
  }
}

}  // namespace emunccl
