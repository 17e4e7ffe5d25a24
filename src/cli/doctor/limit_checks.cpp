// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Checks on limits that end jobs: locked memory, shared memory, huge pages, cgroups, open files.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/cli/doctor/checks.h"
#include "src/cli/doctor/emulation.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr std::int64_t kGiB = 1024 * kMiB;
constexpr std::int64_t kUnlimited = -1;
constexpr unsigned kCapIpcLock = 14;

std::string limits_text(const Survey& survey) {
  if (survey.job) return survey.job->limits;
  return survey.system.read("/proc/self/limits").value_or("");
}

/// Soft and hard limit of a row of /proc/PID/limits; none if the row is missing.
struct Limit {
  std::int64_t soft, hard;
};

std::optional<std::int64_t> limit_value(const std::string& text) {
  if (text == "unlimited") return kUnlimited;
  return to_number(text);
}

std::optional<Limit> find_limit(const Survey& survey, std::string_view row) {
  for (const std::string& line : lines(limits_text(survey))) {
    if (!line.starts_with(row)) continue;
    const auto columns = words(line.substr(row.size()));
    if (columns.size() < 2) return std::nullopt;
    const auto soft = limit_value(columns[0]);
    const auto hard = limit_value(columns[1]);
    if (soft && hard) return Limit{*soft, *hard};
  }
  return std::nullopt;
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes == kUnlimited) return "unlimited";
  if (bytes >= kGiB) return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / kGiB);
  if (bytes >= kMiB) return fmt::format("{} MiB", bytes / kMiB);
  return fmt::format("{} KiB", bytes / kKiB);
}

/// Whether this process may lock memory whatever the limit says.
bool may_lock_all(const Survey& survey) {
  const std::string status =
      survey.job ? survey.job->status : survey.system.read("/proc/self/status").value_or("");
  const auto text = between(status, "CapEff:", "\n");
  const auto mask = to_number("0x" + std::string(trim(text.value_or(""))));
  return mask && ((static_cast<std::uint64_t>(*mask) >> kCapIpcLock) & 1) != 0;
}

Findings check_memlock(const Survey& survey) {
  if (!survey.expects_efa() || has_emulated_nics(survey.system)) return {};
  const auto limit = find_limit(survey, "Max locked memory");
  if (!limit) return {};
  const std::string fact = fmt::format("RLIMIT_MEMLOCK is {}", bytes_text(limit->soft));
  if (limit->soft == kUnlimited || limit->soft >= 8 * kGiB) return fine(fact);
  if (may_lock_all(survey)) return fine(fact + ", and CAP_IPC_LOCK lifts it");
  constexpr const char* kWhy =
      "Every buffer that a NIC touches is locked. When the limit is reached registrations fail "
      "with -12, or EFA ends the job: (4112) Failure to post internal receive buffers.";
  constexpr const char* kAction =
      "Set it to unlimited where the job is started: `* - memlock unlimited` in limits.conf for "
      "shells, LimitMEMLOCK=infinity for slurmd and containerd, --ulimit memlock=-1 for docker.";
  if (limit->soft <= 64 * kMiB) return broken(fact, kWhy, kAction);
  return warning(fact, kWhy, kAction);
}

/// The size of /dev/shm from the mount table: none if it is not limited there.
std::optional<std::int64_t> shm_bytes(const Survey& survey) {
  for (const std::string& line : lines(survey.system.read("/proc/self/mounts").value_or(""))) {
    const auto columns = words(line);
    if (columns.size() < 4 || columns[1] != "/dev/shm") continue;
    const auto text = between(columns[3], "size=", ",");
    if (!text || text->empty()) return std::nullopt;
    const bool kib = text->back() == 'k';
    const auto value = to_number(std::string_view(*text).substr(0, text->size() - (kib ? 1 : 0)));
    if (value && *value < (std::int64_t{1} << 50)) return kib ? *value * kKiB : *value;
  }
  return std::nullopt;
}

Findings check_shm(const Survey& survey) {
  if (!survey.expects_efa()) return {};
  const auto size = shm_bytes(survey);
  if (!size) return {};
  const std::string fact = fmt::format("/dev/shm has {}", bytes_text(*size));
  if (*size >= kGiB) return fine(fact);
  return warning(fact,
                 "NCCL and data loaders keep buffers there. When it is full: `failed to extend "
                 "/dev/shm/nccl-...`, or a bus error. 64 MiB is what container runtimes give.",
                 "Docker: --shm-size=8g or --ipc=host. Kubernetes: an emptyDir of medium Memory on "
                 "/dev/shm.");
}

bool fork_safe(const Survey& survey) {
  return survey.settings.is_on("FI_EFA_FORK_SAFE") || survey.settings.is_on("RDMAV_FORK_SAFE");
}

/// Whether registered memory needs nobody's help at fork(): since kernel 5.13.
bool kernel_copies_on_fork(const Survey& survey) {
  const auto& kernel = survey.hardware.kernel;
  return !survey.is_image() && kernel && kernel->at_least(5, 13);
}

std::int64_t free_huge_pages(const Survey& survey) {
  std::int64_t pages = 0;
  const std::string folder = "/sys/kernel/mm/hugepages";
  for (const std::string& size : survey.system.list(folder)) {
    const auto count = survey.system.line(folder + "/" + size + "/free_hugepages");
    pages += to_number(count.value_or("")).value_or(0);
  }
  return pages;
}

Findings check_huge_pages(const Survey& survey) {
  if (!survey.settings.is_on("FI_EFA_USE_HUGE_PAGE")) return {};
  const std::string fact = survey.settings.shown("FI_EFA_USE_HUGE_PAGE");
  if (fork_safe(survey) && !kernel_copies_on_fork(survey)) {
    return broken(fact + " together with a fork-safe setting",
                  "Huge pages cannot be made safe for fork before kernel 5.13: libfabric calls "
                  "abort() when both are asked for (fabrail then takes huge pages out of its "
                  "process first).",
                  "Unset FI_EFA_USE_HUGE_PAGE.");
  }
  if (!survey.is_image() && free_huge_pages(survey) == 0) {
    return warning(fact + ", but no huge page is free",
                   "Allocations fail, and fork() of data loaders ends with Errno 12.",
                   "Unset it, or reserve pages (vm.nr_hugepages; hugepages-2Mi in the pod).");
  }
  return fine(fact);
}

/// The memory limit of this container; none if there is no limit.
std::optional<std::int64_t> memory_limit(const Survey& survey) {
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const auto value = to_number(survey.system.line(path).value_or(""));
    if (value && *value < (std::int64_t{1} << 50)) return value;  // v1 spells "none" as 2^63
  }
  return std::nullopt;
}

Findings check_memory(const Survey& survey) {
  const auto limit = memory_limit(survey);
  const auto gpus = static_cast<std::int64_t>(survey.hardware.gpus().size());
  if (!limit || gpus == 0 || !survey.expects_efa()) return {};
  const std::string fact =
      fmt::format("this container may use {} of memory for {} GPUs", bytes_text(*limit), gpus);
  if (*limit >= gpus * 4 * kGiB) return fine(fact);
  return warning(fact,
                 "A rank that the kernel kills for memory shows up on its peers as a network error "
                 "(Invalid receiver queue pair number).",
                 "Raise the memory limit of the pod or container.");
}

Findings check_oom(const Survey& survey) {
  const auto text = survey.system.read("/sys/fs/cgroup/memory.events").value_or("");
  const auto kills = to_number(trim(between("\n" + text, "\noom_kill ", "\n").value_or("0")));
  if (kills.value_or(0) == 0) return {};
  return warning(fmt::format("the kernel killed for lack of memory in this container: {}",
                             counted(static_cast<std::size_t>(*kills), "time")),
                 "Peers of a killed rank report a network error: Invalid receiver queue pair "
                 "number (QPN), or unresponsive remote.",
                 "Raise the memory limit; look for exit code 137.");
}

Findings check_files(const Survey& survey) {
  const auto limit = find_limit(survey, "Max open files");
  if (!limit || !survey.expects_efa()) return {};
  const std::string fact = fmt::format("at most {} open files", limit->hard);
  if (limit->hard == kUnlimited) return fine("open files are not limited");
  if (limit->hard >= 4096) return fine(fact);
  return warning(fact, "Large jobs hold a socket for every peer while they start.",
                 "Raise the hard limit: `* - nofile 1048576`, or --ulimit nofile=1048576.");
}

Findings check_stack(const Survey& survey) {
  const auto limit = find_limit(survey, "Max stack size");
  if (!limit || !survey.expects_efa()) return {};
  const std::string fact = fmt::format("stacks of threads have {}", bytes_text(limit->soft));
  if (limit->soft == kUnlimited || limit->soft >= 8 * kMiB) return fine(fact);
  return warning(fact,
                 "Frameworks and NCCL are tried with 8 MiB; less ends in segmentation faults that "
                 "look like anything else.",
                 "Raise it where the job is started: ulimit -s 8192, or `* - stack 8192`.");
}

Findings check_remove_ipc(const Survey& survey) {
  for (const std::string& line :
       lines(survey.system.read("/etc/systemd/logind.conf").value_or(""))) {
    if (trim(line) != "RemoveIPC=yes") continue;
    return note("logind removes shared memory when a user logs out (RemoveIPC=yes)",
                "A job that goes on after its user's logout loses NCCL's segments in /dev/shm.",
                "Set RemoveIPC=no in /etc/systemd/logind.conf.");
  }
  return {};
}

/// Lines that mean trouble with NICs or GPUs, and what they mean.
struct KernelSign {
  const char* text;
  const char* also;  ///< must stand in the same line
  const char* why;
  const char* action;
};

constexpr std::array kKernelSigns = {
    KernelSign{"Failed to process command", "err -12",
               "The NIC refused a registration, queue or domain for lack of its own resources.",
               "Fewer ranks or queue pairs for each NIC (256 at most), larger pages, fewer "
               "registrations."},
    KernelSign{"NVRM: Xid", "", "A GPU reported an error; NCCL then hangs or fails.",
               "Look the Xid number up in NVIDIA's list; reset or replace the GPU."},
};

Findings check_kernel_log(const Survey& survey) {
  for (const std::string& line : lines(survey.hardware.kernel_log)) {
    for (const KernelSign& sign : kKernelSigns) {
      if (!contains(line, sign.text) || !contains(line, sign.also)) continue;
      const std::string shown = line.substr(line.find(sign.text), 120);
      return warning(fmt::format("the kernel log has: {}", shown), sign.why, sign.action);
    }
  }
  return {};
}

constexpr std::array kChecks = {
    Check{"limits.memlock", "How much memory may this process lock?", check_memlock,
          "Reads `Max locked memory` in /proc/self/limits (with --pid, of that process: the limit "
          "differs between shells, slurmd and containerd) and whether CAP_IPC_LOCK lifts it. "
          "64 MiB has been seen to fail; 8 GiB and more is taken as enough."},
    Check{"limits.shm", "Is /dev/shm large enough?", check_shm,
          "Reads the size option of /dev/shm in /proc/self/mounts. Under 1 GiB is a warning."},
    Check{"limits.huge-pages", "Do huge pages fit the fork setting?", check_huge_pages,
          "FI_EFA_USE_HUGE_PAGE=1 with FI_EFA_FORK_SAFE or RDMAV_FORK_SAFE makes libfabric abort "
          "on kernels before 5.13; "
          "without free pages in /sys/kernel/mm/hugepages allocations fail."},
    Check{"limits.memory", "Is the container's memory limit sensible?", check_memory,
          "Reads memory.max (or memory.limit_in_bytes) of the cgroup. Less than 4 GiB for each "
          "GPU is a warning."},
    Check{"limits.oom-kills", "Did the kernel kill processes here?", check_oom,
          "Reads oom_kill in the cgroup's memory.events."},
    Check{"limits.open-files", "How many files may be open?", check_files,
          "Reads the hard limit `Max open files`; NCCL raises the soft one to it by itself."},
    Check{"limits.stack", "How large are stacks of threads?", check_stack,
          "Reads the soft limit `Max stack size`, which new threads take for their size. Less than "
          "8 MiB, the usual default, is a warning."},
    Check{"limits.remove-ipc", "Does a logout remove shared memory?", check_remove_ipc,
          "Looks for RemoveIPC=yes in /etc/systemd/logind.conf."},
    Check{"kernel.log", "Does the kernel complain about NICs or GPUs?", check_kernel_log,
          "Searches /dev/kmsg, or a saved kernel log, for refused EFA commands (err -12) and Xid "
          "messages. The first one is shown."},
};

}  // namespace

std::span<const Check> limit_checks() { return kChecks; }

}  // namespace fabrail::doctor
