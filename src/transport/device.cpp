// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// GPU memory: its registration, small messages on their way into it, and the flush. The CPU touches
// none of it; what it would copy, the NIC writes to itself.
#include <algorithm>
#include <bit>
#include <cstring>

#include "src/gpu/memory.h"
#include "src/transport/engine.h"

namespace fabrail::transport {

namespace {

// A read of one word pushes what the same NIC wrote before.
constexpr std::size_t kFlushBytes = 1;

}  // namespace

// ---- registration

Result<Registration*> Engine::register_device_memory(
    Comm& comm, std::byte* data, std::size_t bytes,
    const std::optional<fabric::DmabufRange>& dmabuf) {
  if (settings_.device.driver == nullptr) {
    return make_error(
        Code::kUnsupported, 0,
        "regMr of GPU memory: this device takes host memory only (ptrSupport says so, "
        "and the log why)");
  }
  const std::span<std::byte> range(data, std::max<std::size_t>(bytes, 1));
  FR_TRY_ASSIGN(const gpu::Memory memory,
                gpu::device_memory(*settings_.device.driver, data, range.size()));
  FR_TRY_ASSIGN(RegisteredRange * registered, acquire_device_range(range, memory.device, dmabuf));
  return enlist(comm, *registered);
}

// The first error counts: it is of the best way.
Result<RegisteredRange*> Engine::acquire_device_range(
    std::span<std::byte> range, int device, const std::optional<fabric::DmabufRange>& dmabuf) {
  if (RegisteredRange* known = memory_->acquire_device(range, device)) return known;
  std::optional<Error> first;
  for (const gpu::Path path : settings_.device.paths) {
    auto added = add_device_range(path, range, device, dmabuf);
    if (added.ok() && first) {
      logger_.info("GPU memory at %p registered by %s, as a better way was refused: %s",
                   static_cast<void*>(range.data()), gpu::path_name(path), first->detail);
    }
    if (added.ok()) return added;
    if (!first) first = added.error();
  }
  return first.value_or(make_error(Code::kUnsupported, 0, "no way to give GPU memory to NICs"));
}

Result<RegisteredRange*> Engine::add_device_range(
    gpu::Path path, std::span<std::byte> range, int device,
    const std::optional<fabric::DmabufRange>& dmabuf) {
  fabric::DeviceRange source{.bytes = range, .cuda_device = device, .dmabuf = std::nullopt};
  if (gpu::poses_as_host(path)) source.cuda_device.reset();
  if (!gpu::takes_dmabuf(path)) return memory_->add_device(source, device);
  if (dmabuf) {
    source.dmabuf = dmabuf;
    return memory_->add_device(source, device);
  }
  FR_TRY_ASSIGN(const gpu::Dmabuf exported,
                gpu::export_dmabuf(*settings_.device.driver, range.data(), range.size()));
  source.dmabuf = {.fd = exported.fd(), .offset = exported.offset()};
  return memory_->add_device(source, device);
}

// As a peer names a byte of ours.
std::uint64_t Engine::remote_address(std::uint32_t rail, const Registration& registration,
                                     const std::byte* data) const {
  if (rails_[rail]->endpoint().caps().virtual_addresses)
    return reinterpret_cast<std::uintptr_t>(data);
  return static_cast<std::uint64_t>(data - registration.range->bytes().data());
}

// ---- small messages

// The message lies in a buffer of the host. Its receive completes when the NIC has written it.
void Engine::place(RecvComm& comm, RecvSlot& slot, std::span<const std::byte> payload) {
  if (payload.empty()) return complete(comm, slot);
  if (post_place(comm, slot, payload)) return;
  HeldEager held;
  if (!keep_payload(held, payload)) {
    return fail(comm, make_error(Code::kInternal, 0, "a message of %zu bytes is no small one",
                                 payload.size()));
  }
  slot.held = held.storage;
  slot.held_bytes = held.bytes;
  ++comm.unplaced;
}

bool Engine::post_place(RecvComm& comm, RecvSlot& slot, std::span<const std::byte> payload) {
  const std::uint32_t rail = comm.home;
  Op* op = take_op(rail, OpKind::kPlace, *comm.peer);
  if (op == nullptr) return false;
  op->comm = comm.key;
  op->slot = static_cast<std::uint16_t>(&slot - comm.slots.data());
  op->to = rails_[rail]->self();
  op->bytes = payload.size();
  std::memcpy(op->bounce, payload.data(), payload.size());
  count(counters_.copied_bytes, payload.size());
  op->remote_address = remote_address(rail, *slot.registration, slot.data);
  op->remote_key = slot.registration->range->key(rail);
  ++comm.own_ops;
  if (const Status posted = submit(rail, *op); !posted.ok())
    on_own_op_failed(comm, nullptr, posted.error());
  return true;
}

void Engine::place_kept(RecvComm& comm) {
  for (RecvSlot& slot : comm.slots) {
    if (slot.held < 0) continue;
    const HeldEager held{.header = {}, .bytes = slot.held_bytes, .storage = slot.held};
    const bool wanted = slot.posted && !slot.complete;
    if (wanted && !post_place(comm, slot, kept_payload(held))) return;
    drop_payload(slot.held);
    slot.held = -1;
    --comm.unplaced;
  }
}

void Engine::on_placed(RecvComm& comm, const Op& op) {
  --comm.own_ops;
  RecvSlot& slot = comm.slots[op.slot];
  if (!slot.posted || slot.complete) return;
  slot.rails |= 1u << comm.home;
  slot.received = static_cast<std::uint32_t>(op.bytes);
  complete(comm, slot);
}

void Engine::on_own_op_failed(RecvComm& comm, Registration* flushed, const Error& error) {
  --comm.own_ops;
  if (flushed != nullptr) --flushed->in_flight;
  fail(comm, error);
}

// ---- the flush

Result<Request*> Engine::flush(RecvComm& comm, std::span<const FlushArgs> receives) {
  const auto is_device = [](const FlushArgs& receive) {
    return is_on_device(receive.registration);
  };
  const auto first = std::find_if(receives.begin(), receives.end(), is_device);
  if (first == receives.end() || settings_.device.flush == gpu::FlushMethod::kNone) return nullptr;
  if (settings_.device.flush == gpu::FlushMethod::kDriver) {
    return flush_by_driver(receives.subspan(static_cast<std::size_t>(first - receives.begin())));
  }
  const MutexLock lock(mutex_);
  if (comm.error) return sticky(comm);
  FlushRequest& request = take_flush(comm);
  for (const FlushArgs& receive : receives) {
    if (!is_device(receive)) continue;
    request.targets[request.count++] = {
        .registration = receive.registration,
        .address = remote_address(comm.home, *receive.registration, receive.data),
        .unposted = rails_that_wrote(comm, receive)};
  }
  begin_request(comm);
  post_flush(comm, request);
  return &request;
}

// One call for each GPU; more than one only where a communicator serves several.
Result<Request*> Engine::flush_by_driver(std::span<const FlushArgs> receives) const {
  int flushed = kHostMemory;
  for (const FlushArgs& receive : receives) {
    if (!is_on_device(receive.registration)) continue;
    const int device = receive.registration->range->device();
    if (device == flushed) continue;
    FR_TRY(settings_.device.driver->flush(device));
    flushed = device;
  }
  return nullptr;
}

// The slot of a receive stays as it was until the next one takes its place. Of receives into the
// same memory all count, and of one that is not found any more all rails.
std::uint32_t Engine::rails_that_wrote(const RecvComm& comm, const FlushArgs& receive) {
  std::uint32_t rails = 0;
  for (const RecvSlot& slot : comm.slots) {
    if (slot.data == receive.data && slot.registration == receive.registration) rails |= slot.rails;
  }
  return rails != 0 ? rails : all_rails(comm.rails);
}

FlushRequest& Engine::take_flush(RecvComm& comm) {
  auto found = std::find_if(comm.flushes.begin(), comm.flushes.end(),
                            [](const auto& request) { return !request->used; });
  if (found == comm.flushes.end())
    found = comm.flushes.insert(found, std::make_unique<FlushRequest>());
  FlushRequest& request = **found;
  request = {};
  request.kind = RequestKind::kFlush;
  request.comm = &comm;
  request.index = static_cast<std::uint16_t>(found - comm.flushes.begin());
  request.used = true;
  return request;
}

// What finds no room now is posted by a later test().
void Engine::post_flush(RecvComm& comm, FlushRequest& request) {
  bool pending = false;
  for (std::uint32_t i = 0; i < request.count; ++i) {
    FlushRequest::Target& target = request.targets[i];
    for (std::uint32_t rest = target.unposted; rest != 0; rest &= rest - 1) {
      const auto rail = static_cast<std::uint32_t>(std::countr_zero(rest));
      if (post_flush_read(comm, request, target, rail)) target.unposted &= ~(1u << rail);
    }
    pending = pending || target.unposted != 0;
  }
  if (pending || request.ops != 0 || request.done) return;
  request.done = true;  // a registration went away meanwhile
  end_request(comm);
}

bool Engine::post_flush_read(RecvComm& comm, FlushRequest& request, FlushRequest::Target& target,
                             std::uint32_t rail) {
  Op* op = take_op(rail, OpKind::kFlush, *comm.peer);
  if (op == nullptr) return false;
  op->comm = comm.key;
  op->slot = request.index;
  op->to = rails_[rail]->self();
  op->bytes = kFlushBytes;
  op->remote_address = target.address;
  op->remote_key = target.registration->range->key(rail);
  op->flushed = target.registration;
  ++target.registration->in_flight;
  ++request.ops;
  request.rails |= 1u << rail;
  ++comm.own_ops;
  if (const Status posted = submit(rail, *op); !posted.ok())
    on_own_op_failed(comm, target.registration, posted.error());
  return true;
}

void Engine::on_flushed(RecvComm& comm, const Op& op) {
  --comm.own_ops;
  if (op.flushed != nullptr) --op.flushed->in_flight;
  FlushRequest& request = *comm.flushes[op.slot];
  const bool pending =
      std::any_of(request.targets.begin(), request.targets.begin() + request.count,
                  [](const FlushRequest::Target& target) { return target.unposted != 0; });
  if (--request.ops != 0 || pending) return;
  request.done = true;
  end_request(comm);
}

// Called when a test found its request not done.
void Engine::keep_own_ops(RecvComm& comm, Request& request) {
  if (comm.error) return;
  if (comm.unplaced != 0) place_kept(comm);
  if (request.kind == RequestKind::kFlush) post_flush(comm, static_cast<FlushRequest&>(request));
}

}  // namespace fabrail::transport
