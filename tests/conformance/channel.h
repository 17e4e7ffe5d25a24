// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What two test processes tell each other beside the plugin: handles, numbers, "go on now".
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace fabrail::conformance {

/// One end of a local socket pair; messages keep their boundaries. Owns the descriptor.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int fd() const { return fd_; }

  /// False (and a test failure) when the other end is gone, or nothing came in time.
  template <class T>
  bool send(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return send_bytes(&value, sizeof value);
  }
  template <class T>
  bool receive(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return receive_bytes(&value, sizeof value);
  }

  /// A number whose meaning the two sides agree on; -1 after a failure.
  bool tell(int64_t number) { return send(number); }
  int64_t hear();

  bool pending() const;  ///< a message waits: `receive` will not block

 private:
  bool send_bytes(const void* from, size_t size);
  bool receive_bytes(void* to, size_t size);

  int fd_;
};

}  // namespace fabrail::conformance
