// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// libibverbs: listing, opening and querying devices, and their asynchronous events.
#include <endian.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/sim/efa/abi/exports.h"
#include "tests/sim/efa/abi/handles.h"
#include "tests/sim/efa/abi/host.h"

namespace fabrail::sim {
namespace {

constexpr uint32_t kVendor = 0x1d0f;
constexpr uint32_t kGbpsPerEdrLane = 25;

template <size_t kSize>
void copy_text(char (&to)[kSize], const std::string& from) {
  const size_t bytes = std::min(from.size(), kSize - 1);
  std::memcpy(to, from.data(), bytes);
  to[bytes] = '\0';
}

/// A handle per device, for the life of the process: users keep pointers to devices of freed lists.
std::vector<DeviceHandle*>& device_handles(Host& opened) {
  // Leaked: libfabric lists and closes devices after main, when static objects are gone.
  static auto& kept = *new std::pair<Host*, std::vector<DeviceHandle*>>;
  if (kept.first == &opened) return kept.second;
  kept = {&opened, {}};
  for (const auto& device : opened.node->devices()) {
    auto* handle = new DeviceHandle;
    ibv_device& d = handle->device;
    const uint16_t index = device->nic().address.device;
    d.node_type = IBV_NODE_UNSPECIFIED;
    d.transport_type = IBV_TRANSPORT_UNSPECIFIED;
    copy_text(d.name, device->name());
    copy_text(d.dev_name, fmt::format("uverbs{}", index));
    copy_text(d.ibdev_path, opened.node->sysfs() + "/class/infiniband/" + device->name());
    copy_text(d.dev_path,
              fmt::format("{}/class/infiniband_verbs/uverbs{}", opened.node->sysfs(), index));
    handle->core = device.get();
    kept.second.push_back(handle);
  }
  return kept.second;
}

struct Speed {
  uint8_t width;
  uint8_t speed;
};

/// Codes of ibv_port_attr: lanes (2: 4x, 4: 8x) and rate per lane (32: EDR 25 Gb/s, 64: HDR 50
/// Gb/s).
Speed port_speed(uint32_t gbps) {
  if (gbps >= 400) return {4, 64};
  if (gbps >= 200) return {2, 64};
  return gbps > kGbpsPerEdrLane ? Speed{2, 32} : Speed{1, 32};
}

int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attributes, size_t bytes) {
  if (port != 1) return EINVAL;
  const Device& device = *context_of(context)->core;
  const Speed speed = port_speed(device.profile().rate_gbps);
  ibv_port_attr values{};
  values.state = device.is_up() ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  values.max_mtu = values.active_mtu = IBV_MTU_4096;
  values.gid_tbl_len = 1;
  values.max_msg_sz = kMtuBytes;
  values.pkey_tbl_len = 1;
  values.max_vl_num = 1;
  values.active_width = speed.width;
  values.active_speed = speed.speed;
  values.phys_state = device.is_up() ? 5 : 3;
  values.link_layer = IBV_LINK_LAYER_UNSPECIFIED;
  std::memset(attributes, 0, bytes);
  std::memcpy(attributes, &values, std::min(bytes, sizeof values));
  return 0;
}

int query_device(ibv_context* context, ibv_device_attr* a) {
  const Device& device = *context_of(context)->core;
  if (device.is_lost()) return EIO;
  const Shape& shape = device.nic().state->shape;
  const Profile& profile = device.profile();
  *a = {};
  copy_text(a->fw_ver, "0.0.0.0");
  a->node_guid = a->sys_image_guid = htobe64(guid(device.nic().address));
  a->max_mr_size = uint64_t{1} << 40;
  a->page_size_cap = 4096;
  a->vendor_id = kVendor;
  a->vendor_part_id = profile.part_id;
  a->hw_ver = profile.part_id;
  a->max_qp = static_cast<int>(std::min(shape.max_qps.load(), kMaxQps - 1));
  a->max_qp_wr = static_cast<int>(profile.receive_queue_entries);
  a->max_sge = kMaxSendSegments;
  a->max_sge_rd = kMaxRdmaSegments;
  a->max_cq = 1024;
  a->max_cqe = 1 << 20;
  a->max_mr = static_cast<int>(shape.max_regions.load());
  a->max_pd = 65535;
  a->max_ah = static_cast<int>(shape.max_ahs.load());
  a->phys_port_cnt = 1;
  return 0;
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input*,
                    ibv_device_attr_ex* attributes, size_t bytes) {
  std::memset(attributes, 0, bytes);
  return query_device(context, &attributes->orig_attr);
}

ibv_event_type event_of(Device::PortChange change) {
  if (change == Device::PortChange::kLost) return IBV_EVENT_DEVICE_FATAL;
  return change == Device::PortChange::kUp ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR;
}

void raise_port_event(ContextHandle& handle, Device::PortChange change) {
  ibv_async_event event{};
  event.event_type = event_of(change);
  event.element.port_num = 1;
  raise_event(handle, event);
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* options) {
  return open_cq(context, *options);
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* options) {
  if (options->qp_type == IBV_QPT_UD) return open_qp(context, *options, false, false);
  errno = EOPNOTSUPP;
  return nullptr;
}

}  // namespace

void raise_event(ContextHandle& context, const ibv_async_event& event) {
  const std::lock_guard lock(context.events->mutex);
  context.events->waiting.push_back(event);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(context.verbs.context.async_fd, &one, sizeof one);
}

}  // namespace fabrail::sim

using namespace fabrail::sim;

FR_SIM_EXPORT ibv_device** ibv_get_device_list(int* count) {
  Host* opened = host();
  if (count != nullptr) *count = 0;
  if (opened == nullptr) {
    errno = ENOSYS;
    return nullptr;
  }
  const auto& handles = device_handles(*opened);
  auto* list = new ibv_device* [handles.size() + 1] {};
  size_t listed = 0;
  for (DeviceHandle* handle : handles)
    if (!handle->core->is_lost()) list[listed++] = &handle->device;
  if (count != nullptr) *count = static_cast<int>(listed);
  return list;
}

FR_SIM_EXPORT void ibv_free_device_list(ibv_device** list) { delete[] list; }

FR_SIM_EXPORT const char* ibv_get_device_name(ibv_device* device) { return device->name; }

FR_SIM_EXPORT __be64 ibv_get_device_guid(ibv_device* device) {
  return htobe64(guid(handle_of<DeviceHandle>(device)->core->nic().address));
}

FR_SIM_EXPORT int ibv_get_device_index(ibv_device* device) {
  return handle_of<DeviceHandle>(device)->core->nic().address.device + 1;
}

FR_SIM_EXPORT ibv_context* ibv_open_device(ibv_device* device) {
  Device* core = handle_of<DeviceHandle>(device)->core;
  if (core->is_lost()) {
    errno = ENODEV;
    return nullptr;
  }
  auto* handle = new ContextHandle;
  handle->core = core;
  handle->events = new AsyncEvents;
  verbs_context& verbs = handle->verbs;
  verbs.sz = sizeof verbs;
  verbs.query_port = query_port;
  verbs.query_device_ex = query_device_ex;
  verbs.create_cq_ex = create_cq_ex;
  verbs.create_qp_ex = create_qp_ex;
  ibv_context& context = verbs.context;
  context.device = device;
  context.cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  context.async_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  context.num_comp_vectors = 2;  // 1 means "no completion interrupts" to newer libfabric
  pthread_mutex_init(&context.mutex, nullptr);
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  install_queue_operations(context.ops);
  handle->listener = core->add_listener(
      [handle](Device::PortChange change) { raise_port_event(*handle, change); });
  return &context;
}

FR_SIM_EXPORT int ibv_close_device(ibv_context* context) {
  ContextHandle* handle = context_of(context);
  if (!belongs_here(*handle->core)) return 0;
  handle->core->remove_listener(handle->listener);
  handle->core->counters().publish();
  close(context->cmd_fd);
  close(context->async_fd);
  pthread_mutex_destroy(&context->mutex);
  delete handle->events;
  delete handle;
  return 0;
}

FR_SIM_EXPORT int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  return query_device(context, attributes);
}

FR_SIM_EXPORT int ibv_query_port(ibv_context* context, uint8_t port,
                                 _compat_ibv_port_attr* attributes) {
  // The struct that this symbol was made for ends before port_cap_flags2.
  return query_port(context, port, reinterpret_cast<ibv_port_attr*>(attributes),
                    offsetof(ibv_port_attr, port_cap_flags2));
}

FR_SIM_EXPORT int ibv_query_gid(ibv_context* context, uint8_t port, int index, ibv_gid* gid) {
  if (port != 1 || index != 0) {
    errno = EINVAL;
    return -1;
  }
  const Gid value = encode_gid(context_of(context)->core->nic().address);
  std::copy(value.begin(), value.end(), gid->raw);
  return 0;
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): the name is rdma-core's
FR_SIM_EXPORT int _ibv_query_gid_ex(ibv_context* context, uint32_t port, uint32_t index,
                                    ibv_gid_entry* entry, uint32_t flags, size_t bytes) {
  if (port != 1 || index != 0 || flags != 0) return EINVAL;
  ibv_gid_entry value{};
  ibv_query_gid(context, 1, 0, &value.gid);
  value.port_num = 1;
  std::memset(entry, 0, bytes);
  std::memcpy(entry, &value, std::min(bytes, sizeof value));
  return 0;
}

FR_SIM_EXPORT int ibv_query_pkey(ibv_context*, uint8_t, int, __be16* key) {
  *key = htobe16(0xffff);
  return 0;
}

FR_SIM_EXPORT int ibv_get_pkey_index(ibv_context*, uint8_t, __be16) { return 0; }

FR_SIM_EXPORT int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  uint64_t value = 0;
  if (read(context->async_fd, &value, sizeof value) != sizeof value) return -1;
  AsyncEvents& events = *context_of(context)->events;
  const std::lock_guard lock(events.mutex);
  *event = events.waiting.front();
  events.waiting.pop_front();
  return 0;
}

FR_SIM_EXPORT void ibv_ack_async_event(ibv_async_event*) {}
