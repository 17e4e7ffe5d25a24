// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Process slots guarded by record locks, futex bells, hazard slots.
#include "tests/sim/efa/core/process_table.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace fabrail::sim {
namespace {

static_assert(kMaxProcesses <= 256, "a token keeps the index in its low byte");

uint32_t index_of(ProcessToken token) { return token & 0xff; }

// Record locks (not flock): they belong to the process, so a forked child does not keep a dead
// parent alive.
bool take_lock(int fd, uint32_t index) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(index);
  lock.l_len = 1;
  return fcntl(fd, F_SETLK, &lock) == 0;
}

bool is_locked_by_other(int fd, uint32_t index) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(index);
  lock.l_len = 1;
  return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void wake(std::atomic<uint32_t>& word) {
  word.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

Membership::Membership(SharedFile<ProcessTable> table, int fd, uint32_t index)
    : table_(std::move(table)), fd_(fd), index_(index) {
  ProcessTable::Entry& mine = entry();
  const uint32_t life = (mine.token.load() >> 8) + 1;
  token_ = (life & 0xffffff) << 8 | index;
  if (token_ >> 8 == 0) token_ |= 1u << 8;
  for (auto& hazard : mine.hazards) hazard.store(0);
  mine.pid.store(static_cast<uint32_t>(getpid()));
  mine.token.store(token_, std::memory_order_release);
  // Peers copy RDMA data with process_vm_readv and _writev; where Yama restricts that, this lets
  // them.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

Membership::~Membership() { close(fd_); }

std::unique_ptr<Membership> Membership::join(const std::string& directory) {
  const std::string path = directory + "/processes";
  auto table = SharedFile<ProcessTable>::open_or_create(path);
  if (!table) return nullptr;
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  for (uint32_t i = 0; i < kMaxProcesses; ++i)
    if (take_lock(fd, i))
      return std::unique_ptr<Membership>(new Membership(std::move(table), fd, i));
  close(fd);
  errno = EUSERS;
  return nullptr;
}

bool Membership::alive(ProcessToken token) const {
  if (token == token_) return true;
  const uint32_t index = index_of(token);
  return token != 0 && index != index_ &&
         table_->entries[index].token.load(std::memory_order_acquire) == token &&
         is_locked_by_other(fd_, index);
}

void Membership::ring(ProcessToken token) {
  ProcessTable::Entry& target = table_->entries[index_of(token)];
  if (target.token.load(std::memory_order_acquire) == token) wake(target.bell);
}

Membership::Hazard::Hazard(Membership& membership, uint64_t region) {
  for (;;) {
    for (auto& slot : membership.entry().hazards) {
      uint64_t expected = 0;
      if (!slot.compare_exchange_strong(expected, region, std::memory_order_seq_cst)) continue;
      slot_ = &slot;
      return;
    }
    sched_yield();  // more copying threads than slots
  }
}

Membership::Hazard::~Hazard() { slot_->store(0, std::memory_order_release); }

void Membership::wait_until_unused(uint64_t region) {
  for (uint32_t i = 0; i < kMaxProcesses; ++i) {
    ProcessTable::Entry& other = table_->entries[i];
    const ProcessToken token = other.token.load(std::memory_order_acquire);
    if (token == 0) continue;
    for (auto& hazard : other.hazards)
      while (hazard.load(std::memory_order_seq_cst) == region && alive(token)) sched_yield();
  }
}

void ring_all(ProcessTable& table) {
  for (auto& entry : table.entries)
    if (entry.token.load(std::memory_order_acquire) != 0) wake(entry.bell);
}

}  // namespace fabrail::sim
