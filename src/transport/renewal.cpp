// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Where a lost message holds back all that follow it (ProviderCaps::numbers_messages): who is out
// of reach for that, and new rails as soon as nobody uses the old ones.
#include "src/transport/engine.h"

namespace fabrail::transport {

Error cut_off_error(const Peer& peer) {
  return make_error(
      Code::kRemote, 0,
      "an earlier message to the peer (%s) was lost, and libfabric would hold back all "
      "that follow. Close every communicator of this device before connecting again",
      peer.name.c_str());
}

void Engine::message_lost(Peer& peer) {
  peer.cut_off = true;
  messages_lost_ = true;
}

// A job that goes on after a failure closes all that it had, and connects again.
Status Engine::renew_rails() {
  const bool used = senders_.size() + receivers_.size() + listeners_.size() != 0;
  if (!messages_lost_ || used || memory_->size() != 0) return {};
  peers_ = {};
  announcements_.clear();
  for (auto& rail : rails_) {
    const fabric::Endpoint& old = rail->endpoint();
    FR_TRY_ASSIGN(rail, open_rail(old.library(), old.nic()));
  }
  troubles_.assign(rails_.size(), {});
  messages_lost_ = false;
  logger_.info("messages were lost: the endpoints of this device have been opened anew");
  return {};
}

}  // namespace fabrail::transport
