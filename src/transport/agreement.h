// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the two sides of a connection should have in common, though it comes about without. Pure.
#pragma once

#include <string>

#include "src/base/result.h"
#include "src/transport/messages.h"

namespace fabrail::transport {

/// What differs and matters, naming both sides: `rails 4 here, 3 there; version ...`. Empty if
/// nothing does. What a side does not tell is no difference.
std::string disagreement(const Party& own, const Party& peer);

/// What a communicator fails with where FABRAIL_REQUIRE makes an error of it.
Error differs(const std::string& own_host, const std::string& peer, const std::string& difference);

}  // namespace fabrail::transport
