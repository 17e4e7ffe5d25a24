// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "tests/gpu/registration.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <array>
#include <chrono>

#include "plugin/gpu_memory.h"
#include "src/fabric/compat.h"
#include "src/gpu/probe_buffer.h"

namespace fabrail {

using fabric::DeviceRange;
using fabric::MemoryRegion;
using gpu::Path;

fabric::NicFilter efa_nics(bool device_memory) {
  fabric::NicFilter filter;
  filter.provider = "efa";
  filter.device_memory = device_memory;
  return filter;
}

Machine& machine() {
  static Machine& only = *[] {
    auto* fresh = new Machine;
    gpu::bind_device(0);
    const char* file = std::getenv("FABRAIL_LIBFABRIC");
    fresh->library = take(fabric::open_library(file == nullptr ? "" : file));
    fresh->discovery = take(fabric::discover(fresh->library, efa_nics(true)));
    fresh->driver = take(gpu::Driver::open());
    fresh->endpoint = take(fabric::Endpoint::open(fresh->library, fresh->discovery.nics.at(0)));
    fresh->self = take(fresh->endpoint->insert(fresh->endpoint->address()));
    return fresh;
  }();
  return only;
}

CUdeviceptr allocate(std::size_t bytes) {
  machine();
  return gpu::allocate(bytes);
}
CUdeviceptr map_piece() {
  machine();
  return gpu::map_pieces(1);
}

bool knows_dmabuf() { return machine().library.version >= fabric::compat::kDmabufVersion; }
bool has_cuda() { return machine().endpoint->caps().device_memory; }
bool is_direct() { return machine().endpoint->nic().network == "efa-direct"; }

std::vector<Path> possible_registrations() {
  std::vector<Path> paths;
  if (has_cuda() && knows_dmabuf()) paths.push_back(Path::kDmabuf);
  if (has_cuda()) paths.push_back(Path::kPeerMemory);
  if (knows_dmabuf()) paths.push_back(Path::kDmabufAsHost);
  paths.push_back(Path::kPeerMemoryAsHost);
  return paths;
}

std::vector<Path> usable_paths() {
  std::vector<Path> paths = possible_registrations();
  if (!is_direct()) std::erase_if(paths, gpu::poses_as_host);
  return paths;
}

Result<MemoryRegion> open_region(Path path, CUdeviceptr address, std::size_t bytes) {
  Machine& m = machine();
  DeviceRange range{.bytes = {static_cast<std::byte*>(gpu::pointer(address)), bytes},
                    .cuda_device = std::nullopt,
                    .dmabuf = std::nullopt};
  if (!gpu::poses_as_host(path)) range.cuda_device = 0;
  std::optional<gpu::Dmabuf> dmabuf;  // closed on return: the NIC must not need it
  if (gpu::takes_dmabuf(path)) {
    dmabuf.emplace(take(gpu::export_dmabuf(*m.driver, gpu::pointer(address), bytes)));
    range.dmabuf = {.fd = dmabuf->fd(), .offset = dmabuf->offset()};
  }
  return MemoryRegion::open_device(*m.endpoint, range, m.next_key++);
}

void expect_completion() {
  Machine& m = machine();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::array<fi_cq_data_entry, 1> entries;
  while (std::chrono::steady_clock::now() < deadline) {
    const std::int64_t taken = m.endpoint->poll(entries);
    if (taken == 1) return;
    if (taken == -FI_EAGAIN) continue;
    fi_cq_err_entry error{};
    m.endpoint->read_error(error);
    FAIL() << m.endpoint->error_text(error);
  }
  FAIL() << "no completion";
}

std::vector<char> pattern(std::size_t bytes) {
  std::vector<char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 7 + i / 251 + 1);
  return data;
}

void expect_copies(const HostBuffer& source, const HostBuffer& target) {
  const Machine& m = machine();
  fi_context2 context{};
  ASSERT_EQ(
      fi_write(m.endpoint->ep(), source.data.data(), source.data.size(), source.region.descriptor(),
               m.self, reinterpret_cast<std::uint64_t>(target.data.data()), target.region.key(),
               &context),
      0);
  expect_completion();
  EXPECT_EQ(target.data, source.data);
}

void expect_moves(const MemoryRegion& region, CUdeviceptr address, std::size_t bytes) {
  Machine& m = machine();
  HostBuffer source(pattern(bytes));
  HostBuffer target{std::vector<char>(bytes)};
  fi_context2 context{};
  ASSERT_EQ(fi_write(m.endpoint->ep(), source.data.data(), bytes, source.region.descriptor(),
                     m.self, address, region.key(), &context),
            0);
  expect_completion();
  std::vector<char> on_device(bytes);
  ASSERT_EQ(cuMemcpyDtoH(on_device.data(), address, bytes), CUDA_SUCCESS);
  EXPECT_EQ(on_device, source.data);
  ASSERT_EQ(fi_read(m.endpoint->ep(), target.data.data(), bytes, target.region.descriptor(), m.self,
                    address, region.key(), &context),
            0);
  expect_completion();
  EXPECT_EQ(target.data, source.data);
}

void expect_sends(const MemoryRegion& region, CUdeviceptr address, std::size_t bytes) {
  Machine& m = machine();
  const std::vector<char> data = pattern(bytes);
  ASSERT_EQ(cuMemcpyHtoD(address, data.data(), bytes), CUDA_SUCCESS);
  HostBuffer target{std::vector<char>(bytes)};
  fi_context2 context{};
  ASSERT_EQ(
      fi_write(m.endpoint->ep(), gpu::pointer(address), bytes, region.descriptor(), m.self,
               reinterpret_cast<std::uint64_t>(target.data.data()), target.region.key(), &context),
      0);
  expect_completion();
  EXPECT_EQ(target.data, data);
}

fabric::DeviceProbes probe() {
  Machine& m = machine();
  const gpu::ProbeBuffer buffer = take(gpu::ProbeBuffer::open(*m.driver, 0));
  return fabric::probe_device_memory(*m.endpoint, plugin::probe_memory(buffer), m.next_key++);
}

std::vector<Path> working_paths(const fabric::DeviceProbes& probes) {
  std::vector<Path> paths;
  if (probes.dmabuf.ok()) paths.push_back(Path::kDmabuf);
  if (probes.peer_memory.ok()) paths.push_back(Path::kPeerMemory);
  if (probes.dmabuf_as_host.ok()) paths.push_back(Path::kDmabufAsHost);
  if (probes.peer_memory_as_host.ok()) paths.push_back(Path::kPeerMemoryAsHost);
  return paths;
}

gpu::ProbeFailure what_failed(const Status& probed) {
  if (probed.ok()) return std::nullopt;
  return std::string(probed.error().text());
}

gpu::PathDecision decide() {
  const Machine& m = machine();
  const fabric::Endpoint& endpoint = *m.endpoint;
  const gpu::DeviceFacts device = take(m.driver->device(0));
  const gpu::PathInputs inputs{.driver_problem = "",
                               .gpudirect = device.gpudirect,
                               .dmabuf = device.dmabuf,
                               .kernel_dmabuf = true,  // the emulated NIC's
                               .peer_memory = "",
                               .libfabric_major = static_cast<int>(FI_MAJOR(m.library.version)),
                               .libfabric_minor = static_cast<int>(FI_MINOR(m.library.version)),
                               .hmem = endpoint.caps().device_memory,
                               .provider = endpoint.nic().provider,
                               .fabric = endpoint.nic().network,
                               .native_read = endpoint.reads_natively(),
                               .native_write = endpoint.writes_natively(),
                               .nic_moves_all = endpoint.promises().nic_moves_all};
  const fabric::DeviceProbes probes = probe();
  return gpu::decide_path(
      gpu::judge_paths(inputs),
      {what_failed(probes.dmabuf), what_failed(probes.peer_memory),
       what_failed(probes.dmabuf_as_host), what_failed(probes.peer_memory_as_host)});
}

}  // namespace fabrail
