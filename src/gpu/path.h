// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Which way NICs are given GPU memory on this machine, and why: values in, a decision out.
#pragma once

#include <array>
#include <optional>
#include <string>

namespace fabrail::gpu {

/// How a NIC learns of a range of device memory, best first.
enum class Path : unsigned char {
  kDmabuf,        ///< as CUDA memory (FI_HMEM), by dma-buf
  kPeerMemory,    ///< as CUDA memory (FI_HMEM), by address: a kernel module asks NVIDIA's driver
  kDmabufAsHost,  ///< by dma-buf, as if it were host memory: libfabric needs no CUDA
  kPeerMemoryAsHost,  ///< by address, as if it were host memory
  kNone,              ///< not at all: NCCL copies through host memory
};
constexpr std::array kPaths = {Path::kDmabuf, Path::kPeerMemory, Path::kDmabufAsHost,
                               Path::kPeerMemoryAsHost};

constexpr bool takes_dmabuf(Path path) {
  return path == Path::kDmabuf || path == Path::kDmabufAsHost;
}
/// libfabric takes it for host memory.
constexpr bool poses_as_host(Path path) {
  return path == Path::kDmabufAsHost || path == Path::kPeerMemoryAsHost;
}

/// What the choice depends on.
struct PathInputs {
  // The driver and the GPU (gpu::Driver).
  std::string driver_problem;  ///< why there is no driver; empty: there is
  bool gpudirect = false;
  bool dmabuf = false;  ///< the GPU exports dma-bufs
  // The kernel (gpu::KernelFacts).
  bool kernel_dmabuf = false;
  std::string peer_memory;  ///< the module; empty: none is seen, which proves nothing
  // libfabric and the NIC.
  int libfabric_major = 0;
  int libfabric_minor = 0;
  bool hmem = false;           ///< it offers FI_HMEM on this NIC: it was built with CUDA
  std::string provider;        ///< "efa", "tcp", "verbs;ofi_rxm", ...
  std::string fabric;          ///< EFA: "efa" or "efa-direct"
  bool native_read = false;    ///< the NIC itself reads from peers' memory
  bool native_write = false;   ///< the NIC itself writes to peers' memory
  bool nic_moves_all = false;  ///< provider promised to touch device memory by the NIC only
};

/// Yes or no, why, and for a no what would change it.
struct Verdict {
  bool yes = false;
  std::string reason;
  std::string remedy;

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

/// What a registration that was tried came to: nothing if it worked, else why not.
using ProbeFailure = std::optional<std::string>;
/// By path, in the order of kPaths.
using ProbeFailures = std::array<ProbeFailure, kPaths.size()>;
using Verdicts = std::array<Verdict, kPaths.size()>;

struct PathDecision {
  Path path = Path::kNone;
  Verdicts verdicts;  ///< on each of kPaths

  /// One or more sentences: the path and its reason, or why there is none and what to do.
  [[nodiscard]] std::string explanation() const;
  /// What follows it where a path was taken: "; not dma-buf: why; or peer memory: why", of all that
  /// were not.
  [[nodiscard]] std::string others() const;
};

/// Judges each path by what is known. What is possible must be tried before it is promised.
Verdicts judge_paths(const PathInputs& inputs);

/// The first path that is possible and whose trial did not fail.
PathDecision decide_path(Verdicts verdicts, const ProbeFailures& failures);

/// The same verdict on every path.
Verdicts same_verdict(const Verdict& verdict);

/// Of two NICs for one device: yes where both say so.
Verdicts both(Verdicts first, const Verdicts& second);

/// "dma-buf", "peer memory", "dma-buf as host memory", "peer memory as host memory", "none".
const char* path_name(Path path);

}  // namespace fabrail::gpu
