// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What an instance found and chose: kept as facts, said in the log, and judged by FABRAIL_REQUIRE.
#include <algorithm>

#include "plugin/instance.h"
#include "plugin/require.h"
#include "src/base/version.h"

namespace fabrail::plugin {

namespace {

// Without the word that the decision's value says.
std::string reason_of(const GpuMemoryPlan& plan) {
  const std::string& text = plan.explanation;
  return text.starts_with("none: ") || text.starts_with("none; ") ? text.substr(6)
                                                                  : text + plan.others;
}

std::string devices_text(std::size_t first, std::size_t last) {
  if (first == last) return "device " + std::to_string(first);
  return "devices " + std::to_string(first) + " to " + std::to_string(last);
}

bool same_outcome(const GpuMemoryPlan& a, const GpuMemoryPlan& b) {
  return a.paths == b.paths && a.can_be_mended == b.can_be_mended &&
         a.explanation == b.explanation && a.flush.method == b.flush.method &&
         a.flush.reason == b.flush.reason;
}

}  // namespace

void Instance::learn(const fabric::Discovery& discovery) {
  facts_.provider = discovery.provider;
  facts_.provider_chosen = !config_.provider.empty() || !config_.fi_provider.empty();
  facts_.passed_over = discovery.passed_over;
  facts_.nics = nics_.size();
  facts_.nics_chosen = !config_.nics.empty();
  if (discovery.provider.empty()) {
    logger_.warn("no usable NIC: %s", config_.provider.empty()
                                          ? "libfabric offers none with reliable datagrams and RMA"
                                          : ("provider " + config_.provider + " has none").c_str());
  } else {
    logger_.info("Selected provider is %s (found %zu nics)", discovery.provider.c_str(),
                 nics_.size());
  }
}

// Neighbours with the same outcome share a line: on most machines, all.
void Instance::say_gpu_memory() {
  for (std::size_t first = 0; first < gpu_plans_.size();) {
    const GpuMemoryPlan& plan = gpu_plans_[first];
    std::size_t end = first + 1;
    while (end < gpu_plans_.size() && same_outcome(gpu_plans_[end], plan)) ++end;
    const std::string devices = devices_text(first, end - 1);
    if (!plan.paths.empty()) {
      logger_.info("%s: GPU memory by %s; flush: %s (%s)", devices.c_str(),
                   plan.explanation.c_str(), gpu::flush_name(plan.flush.method),
                   plan.flush.reason.c_str());
    } else if (plan.can_be_mended) {
      logger_.warn("%s: no GPUDirect RDMA, NCCL copies through host memory: %s", devices.c_str(),
                   reason_of(plan).c_str());
    } else {
      logger_.info("%s: host memory only, NCCL copies GPU buffers through it: %s", devices.c_str(),
                   reason_of(plan).c_str());
    }
    first = end;
  }
}

// The job's, not one device's: what one device cannot do, is not done.
void Instance::learn_gpu_memory() {
  if (gpu_plans_.empty()) return;
  facts_.gpu = {.gpudirect = true, .dmabuf = true, .reason = reason_of(gpu_plans_.front())};
  for (const GpuMemoryPlan& plan : gpu_plans_) {
    if (plan.paths.empty() && facts_.gpu.gpudirect) facts_.gpu.reason = reason_of(plan);
    facts_.gpu.gpudirect = facts_.gpu.gpudirect && !plan.paths.empty();
    facts_.gpu.dmabuf =
        facts_.gpu.dmabuf && !plan.paths.empty() && gpu::takes_dmabuf(plan.paths.front());
  }
  if (!facts_.gpu.gpudirect) return;
  const gpu::FlushDecision& flush = gpu_plans_.front().flush;
  facts_.others.push_back({.name = "flush",
                           .value = gpu::flush_name(flush.method),
                           .reason = flush.reason,
                           .remedy = {}});
}

// All ranks must come to the same: peers are told.
void Instance::learn_protocols(const gpu::ProtocolDecision& decision) {
  using transport::Terms;
  protocols_ = static_cast<std::uint8_t>(Terms::kSimple | (decision.ll.yes ? Terms::kLl : 0) |
                                         (decision.ll128.yes ? Terms::kLl128 : 0));
  facts_.others.push_back({.name = "protocols",
                           .value = decision.ll128.yes
                                        ? "Simple, LL and LL128"
                                        : (decision.ll.yes ? "Simple and LL" : "Simple"),
                           .reason = decision.ll.yes ? decision.ll128.reason : decision.ll.reason,
                           .remedy = {}});
}

// What was decided, each with its reason, in one place.
void Instance::announce() {
  facts_.version = version();
  facts_.path = plugin_path();
  for (const observe::Decision& decision : decide(facts_)) {
    if (decision.severity == observe::Severity::kMend) {
      logger_.warn("%s", to_text(decision).c_str());
    } else {
      logger_.info("decided: %s", to_text(decision).c_str());
    }
  }
}

// The whole list is one line: NCCL keeps the last warning as the text of the job's error.
void Instance::judge_requirements() {
  const auto requirements = parse_requirements(config_.require);
  if (!requirements.ok()) return refuse(requirements.error());
  std::vector<std::string> missing = unmet(requirements.value(), facts_);
  // Whoever requires anything does not want NCCL's sockets instead.
  if (missing.empty() && !requirements.value().empty() && plans_.empty())
    missing.emplace_back("there is no network device");
  if (missing.empty()) return;
  std::string text = missing.front();
  for (std::size_t i = 1; i < missing.size(); ++i) text += "; " + missing[i];
  refuse(make_error(Code::kInvalidUsage, 0, "FABRAIL_REQUIRE is not met, so this job ends here: %s",
                    text.c_str()));
}

void Instance::refuse(const Error& reason) {
  refusal_ = reason;
  logger_.warn("%s", reason.detail);
  if (plans_.empty()) plans_.push_back({.rails = {}, .name = "refused", .pci_path = {}});
}

}  // namespace fabrail::plugin
