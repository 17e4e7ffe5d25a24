// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Contexts: a stack for each thread, as the driver keeps it.
#include "tests/sim/gpu/driver/context.h"

#include <cstddef>
#include <memory>
#include <mutex>

#include "tests/sim/gpu/driver/cuda_public.h"
#include "tests/sim/gpu/driver/faults.h"
#include "tests/sim/gpu/driver/log.h"

namespace emugpu {
namespace {

using Devices = std::vector<std::unique_ptr<Device>>;

Devices make_devices() {
  Devices devices;
  for (const PciAddress& pci : settings().devices) {
    auto device = std::make_unique<Device>();
    device->ordinal = static_cast<int>(devices.size());
    device->pci = pci;
    devices.push_back(std::move(device));
  }
  return devices;
}

// Never destroyed, like all state here: stream threads outlive main().
Devices& devices() {
  static Devices& all = *new Devices(make_devices());
  return all;
}

std::mutex& contexts_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

Context* keep(Device* device) {
  static auto& contexts = *new std::vector<std::unique_ptr<Context>>;
  contexts.push_back(std::make_unique<Context>(Context{.device = device}));
  return contexts.back().get();
}

// Trivially destructible on purpose: NCCL calls in from an atexit handler, after the destructors
// of the main thread's thread_local variables have run.
constexpr int kMaxDepth = 16;
struct ContextStack {
  Context* contexts[kMaxDepth];
  int depth;
};
thread_local ContextStack t_stack;

Context* top() { return t_stack.depth == 0 ? nullptr : t_stack.contexts[t_stack.depth - 1]; }

bool push(Context* context) {
  if (t_stack.depth == kMaxDepth) return false;
  t_stack.contexts[t_stack.depth++] = context;
  return true;
}

Context* context_of(CUcontext handle) { return reinterpret_cast<Context*>(handle); }
CUcontext handle_of(Context* context) { return reinterpret_cast<CUcontext>(context); }

CUresult create_context(CUcontext* out, CUdevice ordinal) {
  Device* device = device_at(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard lock(contexts_mutex());
  Context* context = keep(device);
  if (!push(context)) return CUDA_ERROR_INVALID_VALUE;
  *out = handle_of(context);
  return CUDA_SUCCESS;
}

}  // namespace

int device_count() { return static_cast<int>(devices().size()); }

Device* device_at(int ordinal) {
  if (ordinal < 0 || ordinal >= device_count()) return nullptr;
  return devices()[static_cast<std::size_t>(ordinal)].get();
}

Context* current_context() { return strikes(Fault::kContext) ? nullptr : top(); }

Context* primary_context(Device* device) {
  const std::lock_guard lock(contexts_mutex());
  if (device->primary == nullptr) device->primary = keep(device);
  return device->primary;
}

}  // namespace emugpu

using namespace emugpu;

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice ordinal) {
  trace(__func__);
  Device* device = device_at(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *context = handle_of(primary_context(device));
  ++device->primary_references;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice ordinal) {
  trace(__func__);
  Device* device = device_at(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (device->primary_references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  --device->primary_references;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags, int* active) {
  trace(__func__);
  Device* device = device_at(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *flags = 0;
  *active = device->primary_references > 0 ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext* context, unsigned, CUdevice ordinal) {
  trace(__func__);
  return create_context(context, ordinal);
}

CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int, unsigned, CUdevice ordinal) {
  trace(__func__);
  return create_context(context, ordinal);
}

// The object is kept: streams and allocations may name it.
CUresult cuCtxDestroy(CUcontext context) {
  trace(__func__);
  if (top() == context_of(context)) --t_stack.depth;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  trace(__func__);
  *context = handle_of(current_context());
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) {
  trace(__func__);
  if (context == nullptr || !push(context_of(context))) return CUDA_ERROR_INVALID_CONTEXT;
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  trace(__func__);
  if (t_stack.depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = handle_of(top());
  --t_stack.depth;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  trace(__func__);
  if (t_stack.depth > 0) --t_stack.depth;
  if (context != nullptr) push(context_of(context));
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* ordinal) {
  trace(__func__);
  Context* context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *ordinal = context->device->ordinal;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  trace(__func__);
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) {
  trace(__func__);
  return CUDA_SUCCESS;
}
