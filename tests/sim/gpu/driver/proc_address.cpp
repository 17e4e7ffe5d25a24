// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// cuGetProcAddress: the public functions by name, each with the CUDA version that brought it.
#include <cstring>

#include "tests/sim/gpu/driver/cuda_public.h"
#include "tests/sim/gpu/driver/log.h"

using namespace emugpu;

// The first form, for programs that look it up without a suffix. The header calls it by the second
// name only.
#undef cuGetProcAddress
extern "C" __attribute__((visibility("default"))) CUresult cuGetProcAddress(const char* name,
                                                                            void** out, int version,
                                                                            cuuint64_t flags);

namespace {

struct Entry {
  const char* name;
  int since;
  void* function;
};

// cuda.h names the newest form of a function by a macro (cuMemAlloc is cuMemAlloc_v2), which is
// expanded in the function's place and not in the name's.
#define FR_ENTRY(function, since) \
  { #function, since, reinterpret_cast < void*>(&function) }
#define FR_RENAMED(name, since, function) \
  { name, since, reinterpret_cast<void*>(&function) }

const Entry kEntries[] = {
    FR_ENTRY(cuInit, 2000),
    FR_ENTRY(cuDriverGetVersion, 2020),
    FR_ENTRY(cuGetErrorString, 6000),
    FR_ENTRY(cuGetErrorName, 6000),
    FR_ENTRY(cuGetProcAddress, 11030),
    FR_RENAMED("cuGetProcAddress", 12000, cuGetProcAddress_v2),
    FR_ENTRY(cuDeviceGet, 2000),
    FR_ENTRY(cuDeviceGetCount, 2000),
    FR_ENTRY(cuDeviceGetName, 2000),
    FR_ENTRY(cuDeviceGetAttribute, 2000),
    FR_ENTRY(cuDeviceGetPCIBusId, 4010),
    FR_ENTRY(cuDeviceGetByPCIBusId, 4010),
    FR_ENTRY(cuDeviceCanAccessPeer, 4000),
    FR_RENAMED("cuDeviceGetUuid", 9020, cuDeviceGetUuid),
    FR_RENAMED("cuDeviceTotalMem", 3020, cuDeviceTotalMem),
    FR_ENTRY(cuDevicePrimaryCtxRetain, 7000),
    FR_RENAMED("cuDevicePrimaryCtxRelease", 7000, cuDevicePrimaryCtxRelease),
    FR_ENTRY(cuDevicePrimaryCtxGetState, 7000),
    FR_ENTRY(cuCtxGetCurrent, 4000),
    FR_ENTRY(cuCtxSetCurrent, 4000),
    FR_ENTRY(cuCtxGetDevice, 2000),
    FR_ENTRY(cuCtxSynchronize, 2000),
    FR_ENTRY(cuCtxGetStreamPriorityRange, 5050),
    FR_ENTRY(cuCtxEnablePeerAccess, 4000),
    FR_RENAMED("cuCtxPushCurrent", 4000, cuCtxPushCurrent),
    FR_RENAMED("cuCtxPopCurrent", 4000, cuCtxPopCurrent),
    FR_RENAMED("cuCtxCreate", 3020, cuCtxCreate),
    FR_RENAMED("cuCtxCreate", 11040, cuCtxCreate_v3),
    FR_RENAMED("cuCtxDestroy", 4000, cuCtxDestroy),
    FR_RENAMED("cuMemAlloc", 3020, cuMemAlloc),
    FR_RENAMED("cuMemFree", 3020, cuMemFree),
    FR_ENTRY(cuMemAllocManaged, 6000),
    FR_ENTRY(cuMemHostAlloc, 2020),
    FR_ENTRY(cuMemFreeHost, 2000),
    FR_RENAMED("cuMemHostRegister", 6050, cuMemHostRegister),
    FR_ENTRY(cuMemHostUnregister, 4000),
    FR_RENAMED("cuMemHostGetDevicePointer", 3020, cuMemHostGetDevicePointer),
    FR_RENAMED("cuMemGetInfo", 3020, cuMemGetInfo),
    FR_RENAMED("cuMemGetAddressRange", 3020, cuMemGetAddressRange),
    FR_ENTRY(cuPointerGetAttribute, 4000),
    FR_ENTRY(cuPointerGetAttributes, 7000),
    FR_ENTRY(cuPointerSetAttribute, 6000),
    FR_ENTRY(cuMemCreate, 10020),
    FR_ENTRY(cuMemRelease, 10020),
    FR_ENTRY(cuMemAddressReserve, 10020),
    FR_ENTRY(cuMemAddressFree, 10020),
    FR_ENTRY(cuMemMap, 10020),
    FR_ENTRY(cuMemUnmap, 10020),
    FR_ENTRY(cuMemSetAccess, 10020),
    FR_ENTRY(cuMemGetAllocationGranularity, 10020),
    FR_ENTRY(cuMemRetainAllocationHandle, 11000),
    FR_ENTRY(cuMemGetAllocationPropertiesFromHandle, 10020),
    FR_ENTRY(cuMemExportToShareableHandle, 10020),
    FR_ENTRY(cuMemImportFromShareableHandle, 10020),
    FR_ENTRY(cuMemGetHandleForAddressRange, 11070),
    FR_ENTRY(cuFlushGPUDirectRDMAWrites, 11030),
    FR_ENTRY(cuIpcGetMemHandle, 4010),
    FR_RENAMED("cuIpcOpenMemHandle", 11000, cuIpcOpenMemHandle),
    FR_ENTRY(cuIpcCloseMemHandle, 4010),
    FR_ENTRY(cuMemcpy, 4000),
    FR_ENTRY(cuMemcpyAsync, 4000),
    FR_RENAMED("cuMemcpyHtoD", 3020, cuMemcpyHtoD),
    FR_RENAMED("cuMemcpyDtoH", 3020, cuMemcpyDtoH),
    FR_RENAMED("cuMemcpyDtoD", 3020, cuMemcpyDtoD),
    FR_RENAMED("cuMemcpyHtoDAsync", 3020, cuMemcpyHtoDAsync),
    FR_RENAMED("cuMemcpyDtoHAsync", 3020, cuMemcpyDtoHAsync),
    FR_RENAMED("cuMemcpyDtoDAsync", 3020, cuMemcpyDtoDAsync),
    FR_RENAMED("cuMemsetD8", 3020, cuMemsetD8),
    FR_ENTRY(cuMemsetD8Async, 3020),
    FR_ENTRY(cuStreamCreate, 2000),
    FR_ENTRY(cuStreamCreateWithPriority, 5050),
    FR_RENAMED("cuStreamDestroy", 4000, cuStreamDestroy),
    FR_ENTRY(cuStreamSynchronize, 2000),
    FR_ENTRY(cuStreamQuery, 2000),
    FR_ENTRY(cuStreamGetPriority, 5050),
    FR_ENTRY(cuStreamGetId, 12000),
    FR_ENTRY(cuStreamWaitEvent, 3020),
    FR_ENTRY(cuStreamIsCapturing, 10000),
    FR_ENTRY(cuThreadExchangeStreamCaptureMode, 10010),
    FR_ENTRY(cuLaunchHostFunc, 10000),
    FR_ENTRY(cuEventCreate, 2000),
    FR_RENAMED("cuEventDestroy", 4000, cuEventDestroy),
    FR_ENTRY(cuEventRecord, 2000),
    FR_ENTRY(cuEventQuery, 2000),
    FR_ENTRY(cuEventSynchronize, 2000),
    FR_ENTRY(cuEventElapsedTime, 2000),
    FR_ENTRY(cuFuncGetAttribute, 2020),
    FR_ENTRY(cuFuncSetAttribute, 9000),
    FR_ENTRY(cuLaunchKernel, 4000),
    FR_ENTRY(cuLaunchKernelEx, 11060),
};

struct Lookup {
  const Entry* best = nullptr;  // the newest that is not newer than what was asked for
  bool newer_exists = false;
};

Lookup find(const char* name, int version) {
  Lookup result;
  for (const Entry& entry : kEntries) {
    if (std::strcmp(entry.name, name) != 0) continue;
    if (entry.since > version) {
      result.newer_exists = true;
    } else if (result.best == nullptr || entry.since > result.best->since) {
      result.best = &entry;
    }
  }
  return result;
}

CUdriverProcAddressQueryResult status_of(const Lookup& lookup) {
  if (lookup.best != nullptr) return CU_GET_PROC_ADDRESS_SUCCESS;
  return lookup.newer_exists ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                             : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
}

}  // namespace

CUresult cuGetProcAddress_v2(const char* name, void** out, int version, cuuint64_t,
                             CUdriverProcAddressQueryResult* status) {
  const Lookup lookup = find(name, version);
  *out = lookup.best == nullptr ? nullptr : lookup.best->function;
  if (lookup.best == nullptr) {
    log(kLogLaunch, "cuGetProcAddress %s (%d): %s", name, version,
        lookup.newer_exists ? "needs a newer version" : "not emulated");
  }
  if (status != nullptr) *status = status_of(lookup);
  return lookup.best != nullptr || status != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char* name, void** out, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(name, out, version, flags, nullptr);
}
