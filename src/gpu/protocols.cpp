// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/gpu/protocols.h"

#include <utility>

namespace fabrail::gpu {

namespace {

constexpr const char* kSimple = "NCCL_PROTO=Simple on all ranks";
constexpr const char* kNoLl128 = "NCCL_PROTO=^LL128 on all ranks";

Verdict yes(std::string reason) { return {.yes = true, .reason = std::move(reason), .remedy = ""}; }
Verdict no(std::string reason, const char* remedy) {
  return {.yes = false, .reason = std::move(reason), .remedy = remedy};
}

bool is_efa(const ProtocolInputs& in) { return in.provider == "efa"; }

Verdict judge_ll(const ProtocolInputs& in) {
  if (!is_efa(in))
    return yes("aligned words of 8 bytes arrive whole, as NCCL's own transports rely on");
  if (!in.push)
    return no("EFA promises nothing of the order in which a read's bytes arrive", kSimple);
  if (in.keeps_128_bytes) return yes("the NIC keeps aligned 128 bytes of a write whole");
  return no("the NIC promises nothing of the order in which a write's bytes arrive", kSimple);
}

Verdict judge_ll128(const ProtocolInputs& in) {
  if (!in.device_memory)
    return no("through host memory nothing keeps 128 bytes whole for the GPU that polls them",
              kNoLl128);
  if (!is_efa(in)) return no("not proved on provider " + in.provider, kNoLl128);
  return judge_ll(in);
}

}  // namespace

const char* ProtocolDecision::nccl_proto() const {
  if (!ll.yes) return "Simple";
  return ll128.yes ? "" : "^LL128";
}

ProtocolDecision decide_protocols(const ProtocolInputs& inputs) {
  return {.ll = judge_ll(inputs), .ll128 = judge_ll128(inputs)};
}

}  // namespace fabrail::gpu
