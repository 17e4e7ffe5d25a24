// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// How a message is cut into stripes, and which rail carries which. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fabrail::transport {

/// Stripes start on multiples of this, so that no LL128 line is ever split between rails.
constexpr std::uint32_t kStripeAlignment = 128;

/// Messages up to this size stay on their communicator's home rail, the only one that a receiver of
/// such messages has to poll.
constexpr std::uint32_t kHomeBytes = 8192;

/// One message over the rails of its communicator.
class Striping {
 public:
  /// Cuts `bytes` (1 to 1 GiB) into at most `rails` stripes of at least `min_stripe` bytes.
  /// Messages beyond kHomeBytes start `turn` rails after the home rail, so that those with fewer
  /// stripes than rails use all rails too, one after the other.
  constexpr Striping(std::uint32_t bytes, std::uint32_t rails, std::uint32_t min_stripe,
                     std::uint32_t home, std::uint32_t turn)
      : bytes_(bytes), rails_(rails), first_(bytes <= kHomeBytes ? home : (home + turn) % rails) {
    // A receiver of small messages looks at the home rail only, so they are never cut.
    const std::uint32_t most = bytes <= kHomeBytes ? 1 : rails;
    const std::uint32_t wanted =
        std::clamp(bytes / std::max(min_stripe, kStripeAlignment), 1u, most);
    const std::uint32_t even = (bytes + wanted - 1) / wanted;
    stripe_bytes_ = (even + kStripeAlignment - 1) / kStripeAlignment * kStripeAlignment;
    stripes_ = (bytes + stripe_bytes_ - 1) / stripe_bytes_;
  }

  [[nodiscard]] constexpr std::uint32_t stripes() const { return stripes_; }
  [[nodiscard]] constexpr std::uint32_t rail(std::uint32_t stripe) const {
    return (first_ + stripe) % rails_;
  }
  [[nodiscard]] constexpr std::uint32_t offset(std::uint32_t stripe) const {
    return stripe * stripe_bytes_;
  }
  [[nodiscard]] constexpr std::uint32_t length(std::uint32_t stripe) const {
    return std::min(stripe_bytes_, bytes_ - offset(stripe));
  }

 private:
  std::uint32_t bytes_;
  std::uint32_t rails_;
  std::uint32_t first_;
  std::uint32_t stripe_bytes_ = 0;
  std::uint32_t stripes_ = 0;
};

}  // namespace fabrail::transport
