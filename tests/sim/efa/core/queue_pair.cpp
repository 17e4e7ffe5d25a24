// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Opens, drives and closes a queue pair.
#include "tests/sim/efa/core/queue_pair.h"

#include <algorithm>
#include <cerrno>

#include "tests/sim/efa/core/clock.h"

namespace fabrail::sim {

QueuePair::QueuePair(Device& device, const QueuePairOptions& options, uint32_t qpn,
                     SharedFile<QpState> state)
    : device_(device),
      state_(std::move(state)),
      identity_{&device.fabric(), device.nic(),     device.profile(),    qpn,
                options.pd,       options.reliable, options.unsolicited, this},
      send_completions_(*options.send_completions),
      receive_completions_(*options.receive_completions),
      send_(identity_, send_completions_, options.send_depth),
      receive_(identity_, *state_, device.handles(), receive_completions_, options.receive_depth) {}

std::unique_ptr<QueuePair> QueuePair::open(Device& device, const QueuePairOptions& options) {
  const auto qpn = device.take_qpn();
  if (!qpn) {
    errno = ENOMEM;
    return nullptr;
  }
  auto state = SharedFile<QpState>::create(device.fabric().qp_path(device.nic().address, *qpn));
  if (!state) {
    const int code = errno;
    device.release_qpn(*qpn);
    errno = code;
    return nullptr;
  }
  state->owner = device.membership().token();
  state->pd = options.pd;
  state->unsolicited = options.unsolicited;
  std::unique_ptr<QueuePair> queue_pair(new QueuePair(device, options, *qpn, std::move(state)));
  queue_pair->send_completions_.attach(queue_pair.get());
  queue_pair->receive_completions_.attach(queue_pair.get());
  device.engine().attach(queue_pair.get());
  return queue_pair;
}

QueuePair::~QueuePair() {
  state_->phase.store(QpPhase::kDead, std::memory_order_seq_cst);
  device_.engine().detach(this);
  send_completions_.detach(this);
  receive_completions_.detach(this);
  device_.release_qpn(identity_.qpn);
  device_.counters().publish();
}

int QueuePair::post_send(std::span<const WorkRequest> requests) {
  bool urgent = false;
  bool pending = false;
  {
    const std::lock_guard lock(mutex_);
    if (device_.is_lost()) return EIO;
    const uint64_t now = now_ns();
    if (const int code = send_.post(requests, now); code != 0) return code;
    if (failed_)
      send_.flush();
    else
      send_.step(now);
    urgent = send_.needs_engine();
    pending = send_.busy();
  }
  if (urgent)
    device_.engine().kick();
  else if (pending)
    device_.engine().mind();
  return 0;
}

int QueuePair::post_receive(const ReceiveRequest& request) {
  const std::lock_guard lock(mutex_);
  if (device_.is_lost()) return EIO;
  if (const int code = receive_.post(request); code != 0) return code;
  if (failed_) receive_.flush();
  return 0;
}

void QueuePair::set_rnr_retry(uint32_t retries) {
  const std::lock_guard lock(mutex_);
  send_.set_rnr_retry(retries);
}

void QueuePair::fail() {
  const std::lock_guard lock(mutex_);
  state_->phase.store(QpPhase::kDead, std::memory_order_seq_cst);
  failed_ = true;
  send_.flush();
  receive_.flush();
}

bool QueuePair::progress() {
  if (!send_.busy() && !receive_.pending()) return false;
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;  // its holder does the same just now
  const bool arrived = has_arrivals();
  step(now_ns());
  // A poller with nothing else to do lends a hand: on a busy machine it would otherwise wait for
  // the engine's turn.
  const bool copied = send_.wants_help() && transfer(lock);
  return arrived || copied;
}

uint64_t QueuePair::work() {
  std::unique_lock lock(mutex_);
  flush_if_lost();
  disarm_if_idle();
  const uint64_t next = step(now_ns());
  return transfer(lock) ? 0 : std::min(next, send_.next_timer());
}

/// Copies one piece of a large transfer, without the mutex; false if there is none that may go now.
bool QueuePair::transfer(std::unique_lock<std::mutex>& lock) {
  const auto piece = send_.take_transfer(now_ns());
  if (!piece) return false;
  lock.unlock();
  const Status status = copy_rdma(device_.membership(), piece->copy);
  if (piece->corrupt && status == Status::kOk) corrupt_target(device_.membership(), piece->copy);
  lock.lock();
  send_.finish_transfer(*piece, status, now_ns());
  return true;
}

uint64_t QueuePair::step(uint64_t now) {
  if (has_arrivals()) receive_.step();
  const uint64_t next = send_.step(now);
  return has_arrivals() ? now : next;
}

void QueuePair::flush_if_lost() {
  if (!device_.is_lost() || failed_) return;
  failed_ = true;
  send_.flush();
  receive_.flush();
}

void QueuePair::arm() {
  {
    const std::lock_guard lock(mutex_);
    armed_ = true;
    state_->armed.store(1, std::memory_order_seq_cst);
    send_.set_armed(true);
  }
  // What arrived before the senders could see the flag is looked for once.
  device_.engine().kick();
}

void QueuePair::disarm_if_idle() {
  if (!armed_ || send_completions_.armed() || receive_completions_.armed()) return;
  armed_ = false;
  state_->armed.store(0, std::memory_order_seq_cst);
  send_.set_armed(false);
}

void QueuePair::completion_taken(const Completion& completion) {
  const bool is_receive = completion.kind == CompletionKind::kReceive ||
                          completion.kind == CompletionKind::kReceiveWriteImmediate;
  if (!is_receive) send_.release();
}

}  // namespace fabrail::sim
