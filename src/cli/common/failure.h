// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// How a subcommand that takes two processes gives up: the first thing that goes wrong ends the
// process.
#pragma once

#include <stdexcept>

namespace fabrail::cli {

/// What failed, why, and what to do about it, as one sentence for the user.
///
/// An exception, unlike in the library: a measuring tool has nothing to continue with, and every
/// open communicator is closed on the way out.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace fabrail::cli
