// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// An emulated libnvidia-ml.so.1: the functions that NCCL and libfabric look up, over the same
// devices as the emulated driver. NVLinks (EMUGPU_NVLINKS) all go to a switch that PCI does not
// show; fabric and confidential computing are answered "not there".
#include <cstdio>
#include <cstring>

#include "tests/sim/gpu/driver/settings.h"

using emugpu::parse_pci_address;
using emugpu::PciAddress;
using emugpu::settings;

namespace {

// Names and numbers of NVML's public interface, as far as it is answered here.
using NvmlReturn = int;
constexpr NvmlReturn kSuccess = 0;
constexpr NvmlReturn kInvalidArgument = 2;
constexpr NvmlReturn kNotSupported = 3;
constexpr NvmlReturn kNotFound = 6;

using NvmlDevice = const PciAddress*;

constexpr unsigned kFieldNvLinkState = 165;
constexpr int kP2pCapability = 0;

struct PciInfo {
  char bus_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  unsigned reserved[4];
};

struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency;
  int value_type;
  NvmlReturn result;
  unsigned long long value;
};

// CPU and GPU state of confidential computing, all off; the versioned form has a size in front.
struct ConfidentialState {
  unsigned environment;
  unsigned feature;
  unsigned dev_tools;
};
struct ConfidentialSettings {
  unsigned version;
  unsigned environment;
  unsigned feature;
  unsigned dev_tools;
  unsigned multi_gpu_mode;
};

bool is_nvlink(unsigned link) { return link < static_cast<unsigned>(settings().nvlinks); }

// A link that there is is up.
void read_field(FieldValue& value) {
  value.result = kNotSupported;
  if (value.field != kFieldNvLinkState || settings().nvlinks == 0) return;
  value.result = kSuccess;
  value.value = is_nvlink(value.scope) ? 1 : 0;
}

}  // namespace

#define FR_NVML extern "C" __attribute__((visibility("default")))

FR_NVML NvmlReturn nvmlInit() { return kSuccess; }
FR_NVML NvmlReturn nvmlInit_v2() { return kSuccess; }
FR_NVML NvmlReturn nvmlShutdown() { return kSuccess; }
FR_NVML const char* nvmlErrorString(NvmlReturn) { return "error of the emulated NVML"; }

FR_NVML NvmlReturn nvmlDeviceGetCount(unsigned* count) {
  *count = static_cast<unsigned>(settings().devices.size());
  return kSuccess;
}
FR_NVML NvmlReturn nvmlDeviceGetCount_v2(unsigned* count) { return nvmlDeviceGetCount(count); }

FR_NVML NvmlReturn nvmlDeviceGetHandleByIndex(unsigned index, NvmlDevice* out) {
  if (index >= settings().devices.size()) return kInvalidArgument;
  *out = &settings().devices[index];
  return kSuccess;
}
FR_NVML NvmlReturn nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice* out) {
  return nvmlDeviceGetHandleByIndex(index, out);
}

FR_NVML NvmlReturn nvmlDeviceGetHandleByPciBusId(const char* text, NvmlDevice* out) {
  PciAddress wanted;
  if (!parse_pci_address(text, &wanted)) return kInvalidArgument;
  for (const PciAddress& device : settings().devices) {
    if (device != wanted) continue;
    *out = &device;
    return kSuccess;
  }
  return kNotFound;
}

FR_NVML NvmlReturn nvmlDeviceGetIndex(NvmlDevice device, unsigned* index) {
  *index = static_cast<unsigned>(device - settings().devices.data());
  return kSuccess;
}

FR_NVML NvmlReturn nvmlDeviceGetCudaComputeCapability(NvmlDevice, int* major, int* minor) {
  *major = settings().compute_capability.major;
  *minor = settings().compute_capability.minor;
  return kSuccess;
}

FR_NVML NvmlReturn nvmlDeviceGetP2PStatus(NvmlDevice, NvmlDevice, int, int* status) {
  *status = 0;  // NVML_P2P_STATUS_OK
  return kSuccess;
}

FR_NVML NvmlReturn nvmlDeviceGetNvLinkState(NvmlDevice, unsigned link, int* is_up) {
  if (!is_nvlink(link)) return kNotSupported;
  *is_up = 1;
  return kSuccess;
}
FR_NVML NvmlReturn nvmlDeviceGetNvLinkRemotePciInfo(NvmlDevice, unsigned link, PciInfo* remote) {
  if (!is_nvlink(link)) return kNotSupported;
  *remote = {};
  remote->bus = 0xff;
  std::snprintf(remote->bus_id, sizeof remote->bus_id, "0000:FF:00.0");
  return kSuccess;
}
FR_NVML NvmlReturn nvmlDeviceGetNvLinkCapability(NvmlDevice, unsigned link, int capability,
                                                 unsigned* has) {
  if (!is_nvlink(link)) return kNotSupported;
  *has = capability == kP2pCapability ? 1 : 0;
  return kSuccess;
}

FR_NVML NvmlReturn nvmlDeviceGetFieldValues(NvmlDevice, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) read_field(values[i]);
  return kSuccess;
}

FR_NVML NvmlReturn nvmlDeviceGetGpuFabricInfoV(NvmlDevice, void*) { return kNotSupported; }
FR_NVML NvmlReturn nvmlDeviceGetPlatformInfo(NvmlDevice, void*) { return kNotSupported; }

FR_NVML NvmlReturn nvmlSystemGetConfComputeState(ConfidentialState* state) {
  *state = {};
  return kSuccess;
}
FR_NVML NvmlReturn nvmlSystemGetConfComputeSettings(ConfidentialSettings* state) {
  *state = {.version = state->version,
            .environment = 0,
            .feature = 0,
            .dev_tools = 0,
            .multi_gpu_mode = 0};
  return kSuccess;
}
