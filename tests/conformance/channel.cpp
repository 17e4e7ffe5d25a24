// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Messages over a socket pair.
#include "tests/conformance/channel.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace fabrail::conformance {
namespace {

// Longer than any deadline of a transfer: the side that waits in the plugin fails first, and says
// more.
constexpr int kPatienceMs = 180'000;

bool readable(int fd, int timeout_ms) {
  pollfd entry{fd, POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&entry, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace

Channel::~Channel() { close(fd_); }

bool Channel::pending() const { return readable(fd_, 0); }

int64_t Channel::hear() {
  int64_t number = -1;
  return receive(number) ? number : -1;
}

bool Channel::send_bytes(const void* from, size_t size) {
  ssize_t sent = 0;
  do {
    sent = ::send(fd_, from, size, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  EXPECT_EQ(sent, static_cast<ssize_t>(size)) << "the other test process is gone";
  return sent == static_cast<ssize_t>(size);
}

bool Channel::receive_bytes(void* to, size_t size) {
  ssize_t received = -1;
  if (readable(fd_, kPatienceMs)) received = recv(fd_, to, size, 0);
  EXPECT_EQ(received, static_cast<ssize_t>(size))
      << (received < 0 ? "nothing came from the other test process"
                       : "the other test process ended, or said something else");
  return received == static_cast<ssize_t>(size);
}

}  // namespace fabrail::conformance
