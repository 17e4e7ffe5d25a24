// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Memory in which a process says on request what its communicators are doing: `fabrail stalls PID`
// asks there, and the plugin answers from NCCL's next call. No signal is sent, as one that nobody
// handles ends the process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace fabrail::observe {

/// One text for each NCCL device. It is a memory file that others reach as /proc/PID/fd/N: nothing
/// to clean up, and open to those alone who may look into the process anyway. Move only.
///
/// Atomics: the two sides are different processes. A text is written between two increments of its
/// sequence number, so that a reader can tell that it was changed under its eyes.
class StatePage {
 public:
  static constexpr std::size_t kDevices = 128;
  /// Longest text; memory is taken only for what was ever written.
  static constexpr std::size_t kTextBytes = 256 * 1024 - 16;

  /// Errors  kSystem.
  static Result<StatePage> create();
  /// The page of another process.
  /// Errors  kInvalidArgument: there is no such process, or it has none. kSystem: it may not be
  ///         read. kUnsupported: another version wrote it.
  static Result<StatePage> find(pid_t pid);

  StatePage(StatePage&& other) noexcept;
  StatePage& operator=(StatePage&& other) noexcept;
  StatePage(const StatePage&) = delete;
  StatePage& operator=(const StatePage&) = delete;
  ~StatePage();

  // ---- for the process whose page it is

  /// How often somebody has asked.
  [[nodiscard]] const std::atomic<std::uint32_t>& asked() const;
  /// The device answers from now on.
  void open_device(std::size_t device);
  /// What is longer than kTextBytes is cut.
  void answer(std::size_t device, std::uint32_t asked, std::string_view text);

  // ---- for others

  /// Asks, and returns the number of the request.
  std::uint32_t ask();
  [[nodiscard]] bool has_device(std::size_t device) const;
  /// The text that answers request `asked` or a later one; nothing if there is none yet.
  [[nodiscard]] std::optional<std::string> answer_to(std::size_t device, std::uint32_t asked) const;

 private:
  struct Layout;
  struct Unmap {
    void operator()(Layout* layout) const noexcept;
  };

  StatePage() = default;
  static Result<StatePage> map(int fd);

  std::unique_ptr<Layout, Unmap> layout_;
  int fd_ = -1;
};

}  // namespace fabrail::observe
