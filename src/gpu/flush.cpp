// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/gpu/flush.h"

#include <utility>

namespace fabrail::gpu {

namespace {

FlushDecision use(FlushMethod method, std::string reason) {
  return {.method = method, .sound = true, .reason = std::move(reason)};
}

FlushDecision unsound(std::string reason) {
  return {.method = FlushMethod::kNone, .sound = false, .reason = std::move(reason)};
}

// From compute capability 9.0 on NCCL relies on the GPU, and does not ask.
bool may_be_asked(const FlushInputs& in) { return in.compute_major < 9 || in.forced; }

FlushDecision best_of_what_works(const FlushInputs& in, const std::string& prefix) {
  if (in.flush_by_host) return use(FlushMethod::kDriver, prefix + "the GPU flushes when told to");
  if (in.native_read)
    return use(FlushMethod::kLoopbackRead,
               prefix + "a read through the same NIC pushes what it wrote");
  if (!may_be_asked(in))
    return use(FlushMethod::kNone,
               prefix + "NCCL asks for none from compute capability 9.0 on, and no method works");
  return unsound(prefix + "neither the GPU nor the NIC can flush, so GPU memory would be stale");
}

FlushDecision without_any(const FlushInputs& in) {
  const char* reason = "FABRAIL_FLUSH=none";
  if (in.orders_writes || !may_be_asked(in)) return use(FlushMethod::kNone, reason);
  return unsound(std::string(reason) + ", though this GPU needs a flush");
}

}  // namespace

const char* flush_name(FlushMethod method) {
  switch (method) {
    case FlushMethod::kDriver:
      return "driver";
    case FlushMethod::kLoopbackRead:
      return "loopback read";
    case FlushMethod::kNone:
      return "none";
  }
  return "none";
}

FlushDecision decide_flush(const FlushInputs& in) {
  if (!in.device_memory) return use(FlushMethod::kNone, "NICs write to host memory only");
  if (in.choice == FlushChoice::kNone) return without_any(in);
  if (in.choice == FlushChoice::kDriver) {
    if (in.flush_by_host) return use(FlushMethod::kDriver, "FABRAIL_FLUSH=driver");
    return best_of_what_works(in, "FABRAIL_FLUSH=driver does not work on this GPU; ");
  }
  if (in.choice == FlushChoice::kLoopbackRead) {
    if (in.native_read) return use(FlushMethod::kLoopbackRead, "FABRAIL_FLUSH=loopback");
    return best_of_what_works(in, "FABRAIL_FLUSH=loopback does not work on this NIC; ");
  }
  if (in.orders_writes && !in.forced)
    return use(FlushMethod::kNone, "the GPU itself keeps the order of NICs' writes");
  return best_of_what_works(in, "");
}

}  // namespace fabrail::gpu
