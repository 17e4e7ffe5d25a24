// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/fabric/efa_device.h"

#include <dlfcn.h>

#include <cstdint>

#include "src/fabric/symbol.h"

namespace fabrail::fabric {

namespace {

// Declared here, as little as is called, so that nothing of rdma-core is needed to build.
struct VerbsDevice;
struct VerbsContext;

// The beginning of efadv_device_attr, which only grows: callers say how much they know.
struct EfaAttributes {
  std::uint64_t comp_mask;
  std::uint32_t max_send_requests;
  std::uint32_t max_receive_requests;
  std::uint16_t max_send_segments;
  std::uint16_t max_receive_segments;
  std::uint16_t inline_bytes;
  std::uint8_t reserved[2];
  std::uint32_t capabilities;
  std::uint32_t max_rdma_bytes;
};
static_assert(sizeof(EfaAttributes) == 32);
constexpr std::uint32_t kReadsByRdma = 1 << 0;  // EFADV_DEVICE_ATTR_CAPS_RDMA_READ
constexpr int kForkUnneeded = 2;                // IBV_FORK_UNNEEDED

// Stays open, as it does below libfabric.
void* library(const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }

struct Verbs {
  VerbsDevice** (*list)(int* count) = nullptr;
  void (*free_list)(VerbsDevice** devices) = nullptr;
  VerbsContext* (*open)(VerbsDevice* device) = nullptr;
  int (*close)(VerbsContext* context) = nullptr;
  int (*query)(VerbsContext* context, EfaAttributes* attributes, std::uint32_t bytes) = nullptr;

  bool load() {
    void* verbs = library("libibverbs.so.1");
    return resolve(verbs, "ibv_get_device_list", list) &&
           resolve(verbs, "ibv_free_device_list", free_list) &&
           resolve(verbs, "ibv_open_device", open) && resolve(verbs, "ibv_close_device", close) &&
           resolve(library("libefa.so.1"), "efadv_query_device", query);
  }
};

// nullopt for other makers' devices, too.
std::optional<bool> reads_by_rdma(const Verbs& verbs, VerbsDevice* device) {
  VerbsContext* context = verbs.open(device);
  if (context == nullptr) return std::nullopt;
  EfaAttributes attributes{};
  const int code = verbs.query(context, &attributes, sizeof attributes);
  verbs.close(context);
  if (code != 0) return std::nullopt;
  return (attributes.capabilities & kReadsByRdma) != 0;
}

}  // namespace

std::optional<bool> efa_reads_by_rdma() {
  Verbs verbs;
  if (!verbs.load()) return std::nullopt;
  VerbsDevice** devices = verbs.list(nullptr);
  if (devices == nullptr) return std::nullopt;
  std::optional<bool> answer;
  for (VerbsDevice** device = devices; *device != nullptr && !answer; ++device) {
    answer = reads_by_rdma(verbs, *device);
  }
  verbs.free_list(devices);
  return answer;
}

std::optional<bool> fork_is_safe() {
  int (*status)() = nullptr;
  if (!resolve(library("libibverbs.so.1"), "ibv_is_fork_initialized", status)) return std::nullopt;
  return status() == kForkUnneeded;
}

}  // namespace fabrail::fabric
