// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "plugin/gpu_memory.h"

#include <algorithm>
#include <array>
#include <utility>

#include "include/nccl_net_abi.h"

namespace fabrail::plugin {

namespace {

// A key that no registration of an engine has: probed endpoints are closed before any is opened.
constexpr std::uint64_t kProbeKey = 1;

gpu::ProbeFailure failure_of(const Status& probed) {
  if (probed.ok()) return std::nullopt;
  return std::string(probed.error().text());
}

}  // namespace

std::optional<gpu::FlushChoice> parse_flush_choice(const std::string& text) {
  if (text.empty() || text == "auto") return gpu::FlushChoice::kAuto;
  if (text == "none") return gpu::FlushChoice::kNone;
  if (text == "driver") return gpu::FlushChoice::kDriver;
  if (text == "loopback") return gpu::FlushChoice::kLoopbackRead;
  return std::nullopt;
}

int pointer_support(const GpuMemoryPlan& plan) {
  if (plan.paths.empty()) return NCCL_NET_PTR_HOST;
  const bool dmabuf = std::ranges::any_of(plan.paths, gpu::takes_dmabuf);
  return NCCL_NET_PTR_HOST | NCCL_NET_PTR_CUDA | (dmabuf ? NCCL_NET_PTR_DMABUF : 0);
}

fabric::ProbeMemory probe_memory(const gpu::ProbeBuffer& buffer) {
  fabric::ProbeMemory memory{.bytes = buffer.bytes(),
                             .cuda_device = buffer.device(),
                             .dmabuf = std::nullopt,
                             .no_dmabuf = std::nullopt};
  if (buffer.dmabuf().ok()) {
    memory.dmabuf = {.fd = buffer.dmabuf().value().fd(),
                     .offset = buffer.dmabuf().value().offset()};
  } else {
    memory.no_dmabuf = buffer.dmabuf().error();
  }
  return memory;
}

GpuMemory::GpuMemory(const FlushWishes& wishes) : wishes_(wishes) {
  auto driver = gpu::Driver::open();
  if (driver.ok()) {
    driver_ = driver.take();
    read_facts();
  } else {
    driver_problem_ = driver.error().text();
  }
}

void GpuMemory::read_facts() {
  kernel_ = gpu::read_kernel_facts("/");
  const auto count = driver_->device_count();
  const int devices = count.ok() ? count.value() : 0;
  if (devices == 0) driver_problem_ = "this process sees no GPU";
  for (int ordinal = 0; ordinal < devices; ++ordinal) {
    const auto device = driver_->device(ordinal);
    if (!device.ok()) {
      driver_problem_ = device.error().text();
      break;
    }
    const gpu::DeviceFacts& facts = device.value();
    facts_.gpudirect = facts_.gpudirect && facts.gpudirect;
    facts_.dmabuf = facts_.dmabuf && facts.dmabuf;
    facts_.compute_major =
        ordinal == 0 ? facts.compute_major : std::min(facts_.compute_major, facts.compute_major);
    facts_.orders_writes = facts_.orders_writes && facts.orders_writes;
    facts_.flush_by_host = facts_.flush_by_host && facts.flush_by_host;
  }
  if (!driver_problem_.empty()) driver_.reset();
}

gpu::PathInputs GpuMemory::inputs_for(const fabric::Library& library,
                                      const fabric::Nic& nic) const {
  return {.driver_problem = driver_problem_,
          .gpudirect = facts_.gpudirect,
          .dmabuf = facts_.dmabuf,
          .kernel_dmabuf = kernel_.dmabuf,
          .peer_memory = kernel_.peer_memory,
          .libfabric_major = static_cast<int>(FI_MAJOR(library.version)),
          .libfabric_minor = static_cast<int>(FI_MINOR(library.version)),
          .hmem = nic.caps.device_memory,
          .provider = nic.provider,
          .fabric = nic.network,
          .native_read = true,
          .native_write = true,
          .nic_moves_all = false};
}

gpu::ProbeFailures GpuMemory::probe(const fabric::Endpoint& endpoint) {
  if (!probe_)
    probe_.emplace(gpu::ProbeBuffer::open(*driver_, driver_->current_device().value_or(0)));
  if (!probe_->ok()) {
    gpu::ProbeFailures failures;
    failures.fill(std::string(probe_->error().text()));
    return failures;
  }
  const fabric::DeviceProbes probes =
      fabric::probe_device_memory(endpoint, probe_memory(probe_->value()), kProbeKey);
  return {failure_of(probes.dmabuf), failure_of(probes.peer_memory),
          failure_of(probes.dmabuf_as_host), failure_of(probes.peer_memory_as_host)};
}

GpuMemory::NicReport GpuMemory::examine(const fabric::Library& library, const fabric::Nic& nic) {
  gpu::PathInputs inputs = inputs_for(library, nic);
  // What no NIC could change needs no look at one.
  NicReport report;
  report.verdicts = gpu::judge_paths(inputs);
  if (!nic.device_memory_wanted || !driver_) return report;
  const auto endpoint = fabric::Endpoint::open(library, nic);
  if (!endpoint.ok()) {
    const gpu::Verdict broken{
        .yes = false, .reason = std::string(endpoint.error().text()), .remedy = ""};
    report.verdicts = gpu::same_verdict(broken);
    return report;
  }
  inputs.native_read = endpoint.value().reads_natively();
  inputs.native_write = endpoint.value().writes_natively();
  inputs.nic_moves_all = endpoint.value().promises().nic_moves_all;
  gpu::Verdicts verdicts = gpu::judge_paths(inputs);
  const bool possible =
      std::ranges::any_of(verdicts, [](const gpu::Verdict& verdict) { return verdict.yes; });
  const gpu::ProbeFailures failures = possible ? probe(endpoint.value()) : gpu::ProbeFailures{};
  report.verdicts = gpu::decide_path(std::move(verdicts), failures).verdicts;
  report.reads = inputs.native_read;
  report.writes = inputs.native_write;
  report.keeps_128_bytes = endpoint.value().promises().keeps_128_bytes;
  return report;
}

gpu::FlushDecision GpuMemory::decide_flush(bool native_read) const {
  return gpu::decide_flush({.device_memory = true,
                            .compute_major = facts_.compute_major,
                            .orders_writes = facts_.orders_writes,
                            .flush_by_host = facts_.flush_by_host,
                            .native_read = native_read,
                            .forced = wishes_.forced,
                            .choice = wishes_.choice});
}

// A NIC may stand for several rails; what one cannot do, the device cannot.
GpuMemoryPlan GpuMemory::plan(const fabric::Library& library,
                              std::span<const fabric::Nic* const> nics) {
  GpuMemoryPlan plan;
  gpu::Verdicts verdicts = gpu::same_verdict({.yes = true, .reason = "", .remedy = ""});
  bool reads = true;
  std::vector<const fabric::Nic*> seen;
  for (const fabric::Nic* nic : nics) {
    if (std::ranges::find(seen, nic) != seen.end()) continue;
    seen.push_back(nic);
    const NicReport report = examine(library, *nic);
    verdicts = gpu::both(std::move(verdicts), report.verdicts);
    reads = reads && report.reads;
    plan.writes = plan.writes && report.writes;
    plan.keeps_128_bytes = plan.keeps_128_bytes && report.keeps_128_bytes;
  }
  const gpu::PathDecision decision = gpu::decide_path(std::move(verdicts), {});
  for (std::size_t path = 0; path < gpu::kPaths.size(); ++path) {
    if (decision.verdicts[path].yes) plan.paths.push_back(gpu::kPaths[path]);
  }
  plan.explanation = decision.explanation();
  plan.others = decision.others();
  plan.can_be_mended = driver_ && facts_.gpudirect && reads;
  if (plan.paths.empty()) return plan;
  plan.flush = decide_flush(reads);
  plan.force_flush = wishes_.choice == gpu::FlushChoice::kDriver ||
                     wishes_.choice == gpu::FlushChoice::kLoopbackRead;
  if (plan.flush.sound) return plan;
  plan.force_flush = false;
  plan.explanation = plan.flush.reason;
  plan.others.clear();
  plan.paths.clear();
  return plan;
}

}  // namespace fabrail::plugin
