// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Units from their aligned addresses; the first and the last of a copy may be incomplete.
#include "tests/sim/efa/core/pieces.h"

#include <algorithm>

namespace fabrail::sim {
namespace {

constexpr uint64_t kWordBytes = 8;  // what a CPU stores at once

using Take = std::function<bool(Piece)>;

struct Range {
  uint64_t begin;
  uint64_t end;

  Range within(const Range& other) const {
    return {std::max(begin, other.begin), std::min(end, other.end)};
  }
};

bool take_words(const Range& all, const Range& unit, const Take& take) {
  for (uint64_t at = unit.begin; at < unit.end; at += kWordBytes) {
    const Range word = Range{at, at + kWordBytes}.within(all);
    if (word.begin < word.end && !take({word.begin - all.begin, word.end - word.begin}))
      return false;
  }
  return true;
}

bool take_half(const Range& all, const Range& unit, bool second, const Take& take) {
  const uint64_t middle = (unit.begin + unit.end) / 2;
  const Range half = (second ? Range{middle, unit.end} : Range{unit.begin, middle}).within(all);
  return half.begin >= half.end || take({half.begin - all.begin, half.end - half.begin});
}

}  // namespace

bool for_each_piece(uint64_t target, size_t bytes, const Texture& texture, const Take& take) {
  if (texture.kind == Texture::kPlain) return take({0, bytes});
  const Range all{target, target + bytes};
  const uint64_t unit_bytes = texture.unit_bytes;
  const uint64_t first = all.begin / unit_bytes * unit_bytes;
  const uint64_t count = (all.end - first + unit_bytes - 1) / unit_bytes;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t number = texture.last_unit_first ? count - 1 - i : i;
    const Range unit{first + number * unit_bytes, first + (number + 1) * unit_bytes};
    const bool goes_on = texture.kind == Texture::kWholeUnits
                             ? take_words(all, unit, take)
                             : take_half(all, unit, texture.kind == Texture::kSecondHalves, take);
    if (!goes_on) return false;
  }
  return true;
}

}  // namespace fabrail::sim
