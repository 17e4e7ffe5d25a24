// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// A small seeded generator, so that a run with the same seed draws the same numbers.
#pragma once

#include <cstdint>

namespace fabrail::sim {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}

  uint64_t next() {
    // splitmix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound); 0 for bound 0.
  uint64_t below(uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  bool chance(uint32_t per_million) { return per_million != 0 && below(1'000'000) < per_million; }

 private:
  uint64_t state_;
};

}  // namespace fabrail::sim
