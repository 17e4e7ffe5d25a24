// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/transport/comm.h"

#include <algorithm>

namespace fabrail::transport {

namespace {

// By their generations, which wrap.
bool is_older(std::uint32_t id, std::uint32_t other) {
  return static_cast<std::int16_t>((id >> 16) - (other >> 16)) < 0;
}

}  // namespace

bool RemoteRegions::learn(const Region& message) {
  const std::uint32_t index = index_of(message.region);
  if (index >= kMax) return false;
  if (index >= entries_.size()) entries_.resize(index + 1);
  Entry& entry = entries_[index];
  // Messages overtake each other: a successor of this region may be known already.
  if (entry.known && is_older(message.region, entry.id)) return true;
  entry.id = message.region;
  entry.known = true;
  entry.base = message.base;
  entry.length = message.length;
  entry.keys.assign(message.keys.begin(), message.keys.begin() + message.rails);
  return true;
}

const RemoteRegions::Entry* RemoteRegions::find(std::uint32_t id) const {
  const std::uint32_t index = index_of(id);
  if (index >= entries_.size()) return nullptr;
  const Entry& entry = entries_[index];
  return entry.known && entry.id == id ? &entry : nullptr;
}

std::optional<std::uint32_t> RegionNames::take() {
  if (free_.empty()) {
    if (generations_.size() == RemoteRegions::kMax) return std::nullopt;
    generations_.push_back(0);
    free_.push_back(static_cast<std::uint16_t>(generations_.size() - 1));
  }
  const std::uint16_t index = free_.back();
  free_.pop_back();
  return index | (std::uint32_t{generations_[index]} << 16);
}

void RegionNames::give_back(std::uint32_t id) {
  const auto index = static_cast<std::uint16_t>(RemoteRegions::index_of(id));
  ++generations_[index];
  free_.push_back(index);
}

SendComm::SendComm(Engine& owner) : Comm(CommKind::kSend, owner) {
  for (SendRequest& request : requests_) {
    request.comm = this;
    release(request);
  }
}

SendRequest* SendComm::take_request() {
  SendRequest* request = free_;
  if (request != nullptr) free_ = request->next;
  return request;
}

void SendComm::release(SendRequest& request) {
  request.next = free_;
  free_ = &request;
}

SendRequest* SendComm::find_offered(std::uint32_t index) {
  if (index >= requests_.size() || !requests_[index].offered) return nullptr;
  return &requests_[index];
}

void SendComm::forget(const Registration& registration) {
  for (SendRequest& request : requests_) {
    if (request.registration == &registration) request.registration = nullptr;
  }
}

}  // namespace fabrail::transport
