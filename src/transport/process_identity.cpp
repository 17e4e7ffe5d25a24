// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/transport/process_identity.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <optional>
#include <string_view>

#include "src/transport/clock.h"

namespace fabrail::transport {

namespace {

// A whole small file of /proc; empty if it cannot be read.
std::string_view read_file(const char* path, std::span<char> buffer) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t bytes = read(fd, buffer.data(), buffer.size());
  close(fd);
  return bytes <= 0 ? std::string_view()
                    : std::string_view(buffer.data(), static_cast<std::size_t>(bytes));
}

struct ProcessStat {
  char state = '?';
  std::uint64_t start = 0;
};

// The fields behind the command's name, which may itself hold spaces and parentheses.
std::optional<ProcessStat> parse_stat(std::string_view text) {
  constexpr int kFieldsToStart = 19;  // from the state, field 3, to the start time, field 22
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string_view::npos) return std::nullopt;
  text.remove_prefix(name_end + 2);
  if (text.empty()) return std::nullopt;
  ProcessStat stat{.state = text[0]};
  for (int field = 0; field < kFieldsToStart; ++field) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    text.remove_prefix(space + 1);
  }
  std::from_chars(text.data(), text.data() + text.size(), stat.start);
  return stat;
}

std::optional<ProcessStat> stat_of(std::uint32_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  std::array<char, 1024> buffer;
  return parse_stat(read_file(path.c_str(), buffer));
}

// A process whose first thread has ended looks like a zombie while the others live on.
bool is_single_threaded(std::uint32_t pid) {
  struct stat tasks {};
  const std::string path = "/proc/" + std::to_string(pid) + "/task";
  constexpr nlink_t kOneTask = 3;  // the folder's own two links, and one for each thread
  return stat(path.c_str(), &tasks) != 0 || tasks.st_nlink <= kOneTask;
}

std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t value = 14695981039346656037ull ^ seed;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return value;
}

}  // namespace

ProcessIdentity this_process() {
  std::array<char, 128> buffer;
  const std::string_view boot = read_file("/proc/sys/kernel/random/boot_id", buffer);
  struct stat pid_namespace {};
  const auto pid = static_cast<std::uint32_t>(getpid());
  const auto own = stat_of(pid);
  if (boot.empty() || stat("/proc/self/ns/pid", &pid_namespace) != 0 || !own) return {.pid = pid};
  return {.host = hash(boot, pid_namespace.st_ino), .pid = pid, .start = own->start};
}

bool has_ended(const ProcessIdentity& peer, const ProcessIdentity& self) {
  if (peer.host == 0 || peer.host != self.host) return false;
  const auto stat = stat_of(peer.pid);
  // Not being able to look (no descriptor left, /proc hidden) is no proof.
  if (!stat) return kill(static_cast<pid_t>(peer.pid), 0) != 0 && errno == ESRCH;
  if (stat->start != peer.start || stat->state == 'X') return true;
  return stat->state == 'Z' && is_single_threaded(peer.pid);
}

std::string host_name(std::string_view rank) {
  std::array<char, HOST_NAME_MAX + 1> name{};
  gethostname(name.data(), name.size() - 1);
  std::string host = name.data();
  if (rank.empty()) return host;
  const std::string suffix = ", rank " + std::string(rank);
  return host.substr(0, kMaxNameBytes - suffix.size()) + suffix;
}

std::uint64_t random_number() {
  std::uint64_t value = 0;
  // Without entropy this early in a machine's life the clock still tells listeners of one job
  // apart.
  if (getrandom(&value, sizeof value, GRND_NONBLOCK) != sizeof value) {
    value = static_cast<std::uint64_t>(now_ms()) * 6364136223846793005ull +
            static_cast<std::uint64_t>(getpid());
  }
  return value;
}

}  // namespace fabrail::transport
