// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Merges the machine's /sys/class and /sys/bus/pci/devices with a node's, and mounts the result.
#include "tests/sim/efa/cli/sysfs_mount.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace fabrail::sim {
namespace {

namespace fs = std::filesystem;

/// The machine's entries, as links. Nothing is read: reading some sysfs files has side effects.
void copy_links(const fs::path& from, const fs::path& to) {
  std::error_code ignored;
  fs::create_directories(to);
  for (const auto& entry : fs::directory_iterator(from, ignored))
    if (entry.is_symlink(ignored))
      fs::create_symlink(entry.path(), to / entry.path().filename(), ignored);
}

/// The node's entries win over the machine's. The links lead to the devices at once: hwloc reads
/// the PCI path from them.
void add_links(const fs::path& from, const fs::path& to) {
  std::error_code ignored;
  fs::create_directories(to);
  for (const auto& entry : fs::directory_iterator(from, ignored)) {
    fs::remove(to / entry.path().filename(), ignored);
    fs::create_symlink(fs::canonical(entry.path()), to / entry.path().filename());
  }
}

/// `machine` is where the real /sys is still to be seen.
void build(const fs::path& node, const fs::path& machine, const fs::path& merged) {
  for (const auto& entry : fs::directory_iterator(machine / "class"))
    copy_links(entry.path(), merged / "class" / entry.path().filename());
  for (const auto& entry : fs::directory_iterator(node / "sys/class"))
    add_links(entry.path(), merged / "class" / entry.path().filename());
  copy_links(machine / "bus/pci/devices", merged / "pci");
  add_links(node / "sys/bus/pci/devices", merged / "pci");
}

bool bind(const fs::path& from, const char* to) {
  return mount(from.c_str(), to, nullptr, MS_BIND | MS_REC, nullptr) == 0;
}

}  // namespace

bool mount_sysfs(const std::string& node_path) {
  const fs::path area = fmt::format("{}/mount-{}", node_path, getpid());
  std::error_code failed;
  fs::create_directories(area / "machine", failed);
  if (unshare(CLONE_NEWNS) != 0) return false;
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  if (!bind("/sys", (area / "machine").c_str())) return false;
  try {
    build(node_path, area / "machine", area / "merged");
  } catch (const fs::filesystem_error& error) {
    errno = error.code().value();
    return false;
  }
  const fs::path dmi = "/sys/devices/virtual/dmi/id";
  if (fs::exists(dmi, failed) && !bind(fs::path(node_path) / "sys/class/dmi/id", dmi.c_str()))
    return false;
  return bind(area / "merged/class", "/sys/class") &&
         (!fs::exists("/sys/bus/pci/devices", failed) ||
          bind(area / "merged/pci", "/sys/bus/pci/devices"));
}

}  // namespace fabrail::sim
