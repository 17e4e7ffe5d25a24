// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The other process of a two-process test: this program started again, in a named role.
//
// A fresh program rather than a bare fork: no plugin survives fork() with its connections, and the
// peers of a job never share a parent's state.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <vector>

#include "tests/conformance/channel.h"
#include "tests/conformance/net.h"

namespace fabrail::conformance {

using Environment = std::vector<std::string>;  ///< "NAME=value" entries, on top of this process's

/// What a role does: `net` is initialised. GoogleTest assertions work; the exit status tells.
using RoleFunction = void (*)(Net& net, Channel& channel);

/// A namespace-scope constant registers a role before main.
class Role {
 public:
  Role(const char* name, RoleFunction run);
  const char* name() const { return name_; }

 private:
  const char* name_;
};

/// Runs the role that the command line names; the process's exit status.
int play_role();

/// A started peer. Destroying it kills and reaps the process if it still runs.
class Peer {
 public:
  Peer(const Role& role, int abi, const Environment& environment = {});
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  Channel& channel() { return channel_; }
  pid_t pid() const { return pid_; }
  void signal(int number) const;
  bool wait_stopped() const;

  /// The wait status; a test failure, and -1, when it does not end in time.
  int wait();
  /// Ends by itself, with nothing to complain about.
  void expect_success();

 private:
  Peer(const Role& role, int abi, const Environment& environment, std::array<int, 2> fds);

  Channel channel_;
  pid_t pid_;
};

/// Starts this program with `arguments` and returns its pid, or -1.
pid_t start_self(std::vector<std::string> arguments, const Environment& environment,
                 int inherited_fd = -1);

/// Waits for `pid`; -1 when it does not end within `seconds` (it is killed then).
int wait_for_exit(pid_t pid, int seconds);

}  // namespace fabrail::conformance
