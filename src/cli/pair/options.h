// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the command line of `fabrail pair` says.
#pragma once

#include <cstddef>
#include <string>

namespace fabrail::cli::pair {

struct Options {
  std::string listen = {};      ///< [HOST:]PORT on which to wait for the other side
  std::string peer = {};        ///< HOST:PORT where the other side waits
  std::string rendezvous = {};  ///< HOST:PORT in place of what a launcher says
  std::size_t large_bytes = std::size_t{4} << 20;
  int count = 8;       ///< large messages on each path
  int timeout_s = 10;  ///< how long to wait for a message
  int wait_s = 120;    ///< how long to wait for the other side
  int slow_percent = 60;
  bool json = false;
  bool colour = false;
};

}  // namespace fabrail::cli::pair
