// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/transport/peer.h"

#include <algorithm>
#include <cstring>

namespace fabrail::transport {

namespace {

bool same(const std::vector<std::byte>& a, const std::vector<std::byte>& b) { return a == b; }

bool same(const ProcessIdentity& a, const ProcessIdentity& b) {
  return a.host == b.host && a.pid == b.pid && a.start == b.start;
}

bool keeps_peers(std::span<const std::unique_ptr<Rail>> rails) {
  return rails.front()->endpoint().caps().numbers_messages;
}

std::string name_of(const fabric::Endpoint& endpoint, const Party& party) {
  const std::string host = party.host.empty() ? "host unknown" : "host " + party.host;
  return host + ", process " + std::to_string(party.identity.pid) + ", " +
         endpoint.address_text(party.addresses.front());
}

}  // namespace

bool plausible_address(const fabric::Endpoint& endpoint, std::span<const std::byte> address) {
  const auto own = endpoint.address();
  if (address.empty() || address.size() > kMaxAddressBytes) return false;
  switch (endpoint.nic().info->addr_format) {
    case FI_ADDR_STR:
      return std::find(address.begin(), address.end(), std::byte{0}) == address.end() - 1;
    case FI_SOCKADDR:
    case FI_SOCKADDR_IN:
    case FI_SOCKADDR_IN6:
      return address.size() == own.size() &&
             std::equal(own.begin(), own.begin() + 2, address.begin());
    default:
      return address.size() == own.size();
  }
}

Peer* PeerTable::find(const Party& party) {
  const auto found = std::find_if(peers_.begin(), peers_.end(), [&](const auto& peer) {
    return same(peer->identity, party.identity) &&
           same(peer->addresses.front(), party.addresses.front());
  });
  return found == peers_.end() ? nullptr : found->get();
}

Status PeerTable::extend(std::span<const std::unique_ptr<Rail>> rails, const Party& party,
                         Peer& peer) {
  const std::size_t wanted = std::min(rails.size(), party.addresses.size());
  while (peer.rails < wanted) {
    const auto& address = party.addresses[peer.rails];
    fabric::Endpoint& endpoint = rails[peer.rails]->endpoint();
    if (!plausible_address(endpoint, address)) {
      return make_error(Code::kInvalidArgument, 0,
                        "%s is not an address of provider %s (a peer that uses another one?)",
                        peer.name.c_str(), endpoint.nic().provider.c_str());
    }
    FR_TRY_ASSIGN(peer.to[peer.rails], endpoint.insert(address));
    if (peer.addresses.size() <= peer.rails) peer.addresses.push_back(address);
    ++peer.rails;
  }
  return {};
}

Result<Peer*> PeerTable::find_or_add(std::span<const std::unique_ptr<Rail>> rails,
                                     const Party& party) {
  Peer* peer = find(party);
  std::unique_ptr<Peer> added;
  if (peer == nullptr) {
    added = std::make_unique<Peer>();
    added->identity = party.identity;
    peer = added.get();
  }
  if (added || !party.host.empty()) peer->name = name_of(rails.front()->endpoint(), party);
  if (const Status extended = extend(rails, party, *peer); !extended.ok()) {
    if (added) forget_addresses(rails, *peer);
    return extended.error();
  }
  if (added) {
    evict(rails);
    peers_.push_back(std::move(added));
  }
  ++peer->users;
  return peer;
}

void PeerTable::forget_addresses(std::span<const std::unique_ptr<Rail>> rails, const Peer& peer) {
  for (std::uint32_t rail = 0; rail < peer.rails; ++rail) {
    rails[rail]->drop_shorts(peer.to[rail]);
    // Providers number an address once, however often it is inserted.
    if (peer.to[rail] != rails[rail]->self()) rails[rail]->endpoint().remove(peer.to[rail]);
  }
}

void PeerTable::drop(std::span<const std::unique_ptr<Rail>> rails, Peer& peer) {
  --peer.users;
  if (peer.users != 0 || !peer.dead) return;
  if (keeps_peers(rails) && !peer.ended) {
    // It may come within reach again (unless it is cut off).
    peer.dead = peer.unresponsive = peer.stalled = false;
    return;
  }
  forget_addresses(rails, peer);
  std::erase_if(peers_, [&](const auto& held) { return held.get() == &peer; });
}

// The oldest unused peer goes when there are too many.
void PeerTable::evict(std::span<const std::unique_ptr<Rail>> rails) {
  if (keeps_peers(rails)) return;
  const auto unused = [](const auto& peer) { return peer->users == 0; };
  const auto count = std::count_if(peers_.begin(), peers_.end(), unused);
  if (static_cast<std::size_t>(count) < kMaxUnused) return;
  const auto oldest = std::find_if(peers_.begin(), peers_.end(), unused);
  forget_addresses(rails, **oldest);
  peers_.erase(oldest);
}

}  // namespace fabrail::transport
