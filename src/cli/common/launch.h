// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Which rank this process is in a job that torchrun, mpirun or srun started.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace fabrail::cli {

/// Looks up one environment variable; NULL when it is not set.
using Environment = std::function<const char*(const char* name)>;

/// One rank's place in its job, and where the ranks meet.
struct Place {
  int rank = 0;
  int ranks = 0;
  std::string address;  ///< host of rank 0; empty: the launcher did not say
  uint16_t port = 0;
  std::string launcher;  ///< for messages
};

/// Nothing when no launcher's variables are set. Throws Failure where they make no sense.
std::optional<Place> place_of(const Environment& environment);

/// Puts the user's HOST:PORT in place of the launcher's. Throws Failure when it cannot be read.
void override_rendezvous(Place& place, const std::string& host_and_port);

/// The first host of a Slurm node list: "gpu[003-007,9],x1" gives "gpu003".
std::string first_host(const std::string& node_list);

}  // namespace fabrail::cli
