// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the driver tells about a pointer.
#include <cstring>

#include "tests/sim/gpu/driver/context.h"
#include "tests/sim/gpu/driver/cuda_public.h"
#include "tests/sim/gpu/driver/log.h"
#include "tests/sim/gpu/driver/memory.h"
#include "tests/sim/gpu/driver/settings.h"

using namespace emugpu;

namespace {

// Callers give a variable of the attribute's own type, of which only the width is known here.
template <typename T>
CUresult answer(void* out, T value) {
  std::memcpy(out, &value, sizeof value);
  return CUDA_SUCCESS;
}

CUresult attribute_of(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
  const auto found = memory().find(pointer(address));
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  const Allocation& a = *found;
  const bool on_device = a.kind == MemoryKind::kDevice || a.managed;
  const unsigned long long handle_types =
      a.physical != 0 ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return answer(out, primary_context(device_at(a.device)));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return answer<unsigned>(out, on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return answer(out, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return on_device && !a.managed ? CUDA_ERROR_INVALID_VALUE : answer(out, pointer(address));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return answer<unsigned>(out, a.sync_memops ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return answer<unsigned long long>(out, a.id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return answer<unsigned char>(out, a.managed ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return answer<int>(out, a.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return answer<unsigned char>(out, on_device && a.physical == 0 ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return answer<CUdeviceptr>(out, a.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return answer<std::size_t>(out, a.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return answer<unsigned char>(out, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return answer(out, handle_types);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return answer<unsigned char>(out, settings().gpudirect && memory().is_for_nics(a) ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return answer<unsigned>(out, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    default:
      log(kLogRefusal, "pointer attribute %d is not emulated", static_cast<int>(attribute));
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

// The plural form does not fail for a pointer that the driver does not know.
void answer_unknown(void* out, CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      answer<int>(out, CU_DEVICE_INVALID);
      break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      answer<unsigned>(out, 0);
      break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      answer<unsigned char>(out, 0);
      break;
    default:
      answer<void*>(out, nullptr);
  }
}

}  // namespace

CUresult cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
  trace(__func__);
  return attribute_of(out, attribute, address);
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** out,
                                CUdeviceptr address) {
  trace(__func__);
  for (unsigned i = 0; i < count; ++i) {
    if (attribute_of(out[i], attributes[i], address) != CUDA_SUCCESS) {
      answer_unknown(out[i], attributes[i]);
    }
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                               CUdeviceptr address) {
  trace(__func__);
  if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
  unsigned on = 0;
  std::memcpy(&on, value, sizeof on);
  return memory().set_sync_memops(pointer(address), on != 0);
}
