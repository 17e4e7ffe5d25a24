// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// In which pieces the bytes of an RDMA operation become visible at their target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace fabrail::sim {

/// What some devices write whole.
inline constexpr uint32_t kWholeUnitBytes = 128;

/// Bytes of a copy that are moved at once, after those that came before.
struct Piece {
  size_t offset = 0;
  size_t bytes = 0;

  bool operator==(const Piece&) const = default;
};

/// How a copy goes. Units are aligned at the target.
struct Texture {
  enum Kind : uint8_t {
    kPlain,         // all at once
    kWholeUnits,    // each unit is seen whole, or its bytes in rising order; of units, any first
    kSecondHalves,  // planted fault: of each unit only the half that ought to come last,
    kFirstHalves,   // and what that has left out
  };
  Kind kind = kPlain;
  uint32_t unit_bytes = 0;       // a power of two
  bool last_unit_first = false;  // of kWholeUnits: to be no better than promised
};

/// Calls `take` for each piece of a copy to [target, target + bytes), in order; false once that
/// returns false.
bool for_each_piece(uint64_t target, size_t bytes, const Texture& texture,
                    const std::function<bool(Piece)>& take);

}  // namespace fabrail::sim
