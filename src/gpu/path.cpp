// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/gpu/path.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace fabrail::gpu {

namespace {

using Objection = std::optional<Verdict>;

constexpr const char* kBetterInstance =
    "use an instance type with GPUDirect RDMA (p4d, p5.48xlarge and later)";
constexpr const char* kLibfabricWithCuda =
    "install the EFA installer's libfabric, or name one that has CUDA in FABRAIL_LIBFABRIC";

Verdict no(std::string reason, std::string remedy) {
  return {.yes = false, .reason = std::move(reason), .remedy = std::move(remedy)};
}

bool is_efa(const PathInputs& in) { return in.provider == "efa"; }

bool has_version(const PathInputs& in, int major, int minor) {
  return std::pair{in.libfabric_major, in.libfabric_minor} >= std::pair{major, minor};
}

std::string version_text(const PathInputs& in) {
  return std::to_string(in.libfabric_major) + "." + std::to_string(in.libfabric_minor);
}

// What no path can do without.
Objection object_to_all(const PathInputs& in) {
  if (!in.driver_problem.empty()) return no(in.driver_problem, "");
  if (!in.gpudirect)
    return no("the GPU does not let NICs reach its memory (no GPUDirect RDMA)", kBetterInstance);
  if (!is_efa(in) && !in.provider.starts_with("verbs"))
    return no(
        "provider " + in.provider + " moves bytes with the CPU, which cannot touch GPU memory",
        "use EFA NICs");
  if (!in.native_read && !in.native_write)
    return no("the NIC has no RDMA in use, so bytes would go through the CPU's buffers",
              "use NICs with RDMA (p4d and later), without FI_EFA_USE_DEVICE_RDMA=0");
  return std::nullopt;
}

// What both ways of registering CUDA memory need.
Objection object_to_hmem(const PathInputs& in) {
  if (!in.hmem)
    return no("this libfabric (" + version_text(in) + ") was built without CUDA",
              kLibfabricWithCuda);
  if (!in.nic_moves_all)
    return no("libfabric would move GPU memory with CUDA copies on NCCL's progress thread",
              "make sure that the NIC can reach GPU memory (FI_HMEM_DISABLE_P2P unset)");
  return std::nullopt;
}

Objection object_to_dmabuf(const PathInputs& in) {
  if (!in.dmabuf)
    return no("the GPU exports no dma-buf",
              "use NVIDIA's open kernel modules, and a driver of CUDA 11.7 or newer");
  if (!in.kernel_dmabuf)
    return no("Linux older than 5.12 gives NICs no dma-buf", "use Linux 5.12 or newer");
  if (!has_version(in, 1, 20))
    return no("libfabric " + version_text(in) + " knows no dma-buf", "use libfabric 1.20 or newer");
  return std::nullopt;
}

// The system interface tells libfabric that the CPU may touch the bytes: sound only where it never
// does. efa-direct gives reads and writes to the NIC by address and key. What it copies is a *send*
// of some 32 bytes (and, after 2.6, a write where the application asks for a larger inject_size):
// GPU memory is never sent, and no such size asked for.
Objection object_to_host_interface(const PathInputs& in) {
  const bool newer_helps = is_efa(in) && !has_version(in, 2, 1);
  if (!is_efa(in) || in.fabric != "efa-direct")
    return no(
        "provider " + (is_efa(in) ? in.fabric : in.provider) +
            " may touch with the CPU what it takes for host memory",
        newer_helps ? "use libfabric 2.1 or newer, whose efa-direct does not" : kLibfabricWithCuda);
  if (!in.native_read || !in.native_write)
    return no("efa-direct has no RDMA write on this NIC", kLibfabricWithCuda);
  return std::nullopt;
}

Verdict judge_dmabuf(const PathInputs& in) {
  for (const auto& objection : {object_to_hmem(in), object_to_dmabuf(in)}) {
    if (objection) return *objection;
  }
  return {.yes = true, .reason = "GPU, kernel and libfabric exchange dma-bufs", .remedy = ""};
}

// Of the kernel's side nothing speaks against it: only a trial shows whether it is there.
std::string hope_for_peer_memory(const PathInputs& in) {
  return in.peer_memory.empty() ? "no module for it is seen, but the EFA driver may have its own"
                                : "kernel module " + in.peer_memory + " is loaded";
}

Verdict judge_peer_memory(const PathInputs& in) {
  if (const Objection objection = object_to_hmem(in)) return *objection;
  return {.yes = true, .reason = hope_for_peer_memory(in), .remedy = ""};
}

Verdict judge_dmabuf_as_host(const PathInputs& in) {
  for (const auto& objection : {object_to_dmabuf(in), object_to_host_interface(in)}) {
    if (objection) return *objection;
  }
  return {.yes = true,
          .reason = "efa-direct leaves all bytes to the NIC, so libfabric needs no CUDA",
          .remedy = ""};
}

Verdict judge_peer_memory_as_host(const PathInputs& in) {
  if (const Objection objection = object_to_host_interface(in)) return *objection;
  return {.yes = true,
          .reason = "efa-direct leaves all bytes to the NIC; " + hope_for_peer_memory(in),
          .remedy = ""};
}

const char* remedy_of_failure(Path path) {
  return takes_dmabuf(path)
             ? "update the EFA driver, or use one with peer memory (EFA installer)"
             : "install AWS's EFA driver, and load efa_nv_peermem where there is one";
}

std::string sentence(const std::string& subject, const Verdict& verdict) {
  std::string text = subject + ": " + verdict.reason;
  return verdict.remedy.empty() ? text : text + " (" + verdict.remedy + ")";
}

// What has the same reason, once; NCCL cuts its lines at 1024 bytes.
std::vector<std::pair<std::string, Verdict>> grouped(const Verdicts& verdicts, Path without) {
  std::vector<std::pair<std::string, Verdict>> groups;
  for (std::size_t i = 0; i < kPaths.size(); ++i) {
    if (kPaths[i] == without) continue;
    const auto known = std::ranges::find_if(
        groups, [&](const auto& group) { return group.second == verdicts[i]; });
    if (known == groups.end()) {
      groups.emplace_back(path_name(kPaths[i]), verdicts[i]);
    } else {
      known->first += std::string(" and ") + path_name(kPaths[i]);
    }
  }
  return groups;
}

}  // namespace

const char* path_name(Path path) {
  switch (path) {
    case Path::kDmabuf:
      return "dma-buf";
    case Path::kPeerMemory:
      return "peer memory";
    case Path::kDmabufAsHost:
      return "dma-buf as host memory";
    case Path::kPeerMemoryAsHost:
      return "peer memory as host memory";
    case Path::kNone:
      return "none";
  }
  return "none";
}

Verdicts judge_paths(const PathInputs& inputs) {
  if (const Objection objection = object_to_all(inputs)) return same_verdict(*objection);
  return {judge_dmabuf(inputs), judge_peer_memory(inputs), judge_dmabuf_as_host(inputs),
          judge_peer_memory_as_host(inputs)};
}

Verdicts same_verdict(const Verdict& verdict) {
  Verdicts verdicts;
  verdicts.fill(verdict);
  return verdicts;
}

Verdicts both(Verdicts first, const Verdicts& second) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i].yes) first[i] = second[i];
  }
  return first;
}

PathDecision decide_path(Verdicts verdicts, const ProbeFailures& failures) {
  PathDecision decision;
  decision.verdicts = std::move(verdicts);
  for (std::size_t i = kPaths.size(); i-- > 0;) {
    Verdict& verdict = decision.verdicts[i];
    if (verdict.yes && failures[i])
      verdict = no("tried, and refused: " + *failures[i], remedy_of_failure(kPaths[i]));
    if (verdict.yes) decision.path = kPaths[i];
  }
  return decision;
}

std::string PathDecision::explanation() const {
  for (std::size_t i = 0; i < kPaths.size(); ++i) {
    if (kPaths[i] == path) return sentence(path_name(path), verdicts[i]);
  }
  const bool same = std::ranges::all_of(
      verdicts, [&](const Verdict& verdict) { return verdict.reason == verdicts[0].reason; });
  if (same) return sentence("none", verdicts[0]);
  std::string text = "none";
  for (const auto& [names, verdict] : grouped(verdicts, path))
    text += "; " + sentence(names, verdict);
  return text;
}

std::string PathDecision::others() const {
  if (path == Path::kNone) return {};
  std::string text;
  for (const auto& [names, verdict] : grouped(verdicts, path))
    text += (verdict.yes ? "; or " : "; not ") + sentence(names, verdict);
  return text;
}

}  // namespace fabrail::gpu
