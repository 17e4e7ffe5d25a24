// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The last request that is under way: once NCCL has it back it may not call us for long, or end the
// process.
#include "src/transport/clock.h"
#include "src/transport/engine.h"

namespace fabrail::transport {

namespace {

// Longer than the longest pause (1 s) of EFA's provider between two attempts. A peer that takes
// nothing for so long is not coming along for other reasons, and must not hold up those that do.
constexpr std::int64_t kPatienceMs = 5000;

}  // namespace

// Called when a test found its request done. A message that its receiver's NIC had no room for is
// sent again by the provider, while it is called; all later ones, though they arrived, are kept
// back from the peer until then. Its completion does not tell, nor do messages that nobody waits
// for have one: so what nobody else will call us for is not done before all of them are there.
bool Engine::is_needed() {
  if (unreturned_ > 1) {
    needed_since_ms_ = 0;  // there will be calls
    return false;
  }
  std::uint32_t unfinished = 0;
  for (std::uint32_t rail = 0; rail < rails_.size(); ++rail) {
    if (!rails_[rail]->all_messages_finished()) unfinished |= 1u << rail;
  }
  if (unfinished == 0) {
    needed_since_ms_ = 0;
    return false;
  }
  const std::int64_t now = now_ms();
  if (needed_since_ms_ == 0) needed_since_ms_ = now;
  if (now - needed_since_ms_ > kPatienceMs) {
    needed_since_ms_ = 0;
    for (const auto& rail : rails_) rail->await_no_messages();
    return false;
  }
  poll(unfinished);
  return true;
}

}  // namespace fabrail::transport
