// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the plugin promises of GPU memory: for each NCCL device the ways that work on all its NICs,
// tried before they are promised, and the flush.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/fabric/device_probe.h"
#include "src/fabric/nic.h"
#include "src/gpu/driver.h"
#include "src/gpu/flush.h"
#include "src/gpu/kernel.h"
#include "src/gpu/path.h"
#include "src/gpu/probe_buffer.h"

namespace fabrail::plugin {

/// One NCCL device's part.
struct GpuMemoryPlan {
  std::vector<gpu::Path> paths;  ///< that work on every NIC, best first; none: host memory only
  gpu::FlushDecision flush;
  bool force_flush = false;     ///< NCCL is to ask for it on every GPU, as the user chose a method
  std::string explanation;      ///< the path and why, or why there is none and what to do
  std::string others;           ///< what follows it: which paths were not taken, and why
  bool can_be_mended = false;   ///< GPU and NIC could do better than they do here
  bool writes = true;           ///< every NIC writes to peers' memory by itself
  bool keeps_128_bytes = true;  ///< every NIC keeps aligned 128 bytes of a write whole
};

/// What NCCL is told: NCCL_NET_PTR_* bits.
int pointer_support(const GpuMemoryPlan& plan);

/// What the user asks of flushes.
struct FlushWishes {
  gpu::FlushChoice choice = gpu::FlushChoice::kAuto;  ///< FABRAIL_FLUSH
  bool forced = false;                                ///< NCCL_NET_FORCE_FLUSH
};

/// The choice of that name; none if there is no such choice.
std::optional<gpu::FlushChoice> parse_flush_choice(const std::string& text);

/// What a NIC is tried with: `buffer`, in every way that it can be registered.
fabric::ProbeMemory probe_memory(const gpu::ProbeBuffer& buffer);

/// The GPUs of this process, and what their memory is to NICs.
///
/// Thread  one at a time.
class GpuMemory {
 public:
  /// Opens the CUDA driver, if there is one. What is wrong with it, plans explain.
  explicit GpuMemory(const FlushWishes& wishes);

  /// Null if GPU memory cannot be used at all. Valid as long as this object.
  [[nodiscard]] const gpu::Driver* driver() const { return driver_ ? &*driver_ : nullptr; }

  /// Decides for a device made of these NICs: opens each and registers a little GPU memory on it.
  GpuMemoryPlan plan(const fabric::Library& library, std::span<const fabric::Nic* const> nics);

  /// Ends the probing: gives back the GPU memory that it used.
  void finish_planning() { probe_.reset(); }

 private:
  /// What is known of all GPUs that the process sees: the worst of each.
  struct Facts {
    bool gpudirect = true;
    bool dmabuf = true;
    int compute_major = 0;
    bool orders_writes = true;
    bool flush_by_host = true;
  };
  /// What one NIC can do.
  struct NicReport {
    gpu::Verdicts verdicts;
    bool reads = false;
    bool writes = false;
    bool keeps_128_bytes = false;
  };

  void read_facts();
  NicReport examine(const fabric::Library& library, const fabric::Nic& nic);
  [[nodiscard]] gpu::PathInputs inputs_for(const fabric::Library& library,
                                           const fabric::Nic& nic) const;
  gpu::ProbeFailures probe(const fabric::Endpoint& endpoint);
  [[nodiscard]] gpu::FlushDecision decide_flush(bool native_read) const;

  FlushWishes wishes_;
  std::optional<gpu::Driver> driver_;
  std::string driver_problem_;
  gpu::KernelFacts kernel_;
  Facts facts_;
  std::optional<Result<gpu::ProbeBuffer>> probe_;
};

}  // namespace fabrail::plugin
