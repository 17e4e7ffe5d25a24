// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors

// The completion statuses of an EFA device, by the numbers that it reports as vendor error.
#pragma once

#include <cstdint>

namespace fabrail::sim {

enum class Status : uint32_t {
  kOk = 0,
  kFlushed = 1,
  kQpInternal = 2,
  kUnsupportedOp = 3,
  kInvalidAh = 4,
  kInvalidLkey = 5,
  kBadLength = 6,
  kRemoteBadAddress = 7,
  kRemoteAbort = 8,
  kBadDestinationQpn = 9,
  kReceiverNotReady = 10,
  kRemoteBadLength = 11,
  kRemoteBadStatus = 12,
  kUnresponsive = 13,
  kUnknownPeer = 14,
  kUnreachable = 15,
  kFeatureMismatch = 18,
};

}  // namespace fabrail::sim
