// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Bytes that a NIC announces are taken out of memory and replaced by their complement, so that
// whoever reads too early finds every byte wrong; they are put back by a flush or by a timer.
#include "tests/sim/gpu/driver/visibility.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "tests/sim/gpu/driver/log.h"
#include "tests/sim/gpu/driver/memory.h"
#include "tests/sim/gpu/driver/settings.h"
#include "tests/sim/gpu/emugpu.h"

namespace emugpu {
namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<unsigned char>;

struct Write {
  std::uint64_t nic;
  int device;
  unsigned char* alias;
  Bytes bytes;
  Clock::time_point due;

  [[nodiscard]] bool overlaps(const unsigned char* other, std::size_t length) const {
    return alias < other + length && other < alias + bytes.size();
  }

  // What is no longer the complement has been written since, by a NIC that has not said so yet or
  // by a kernel: the newer bytes stay.
  void show() const {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (alias[i] == static_cast<unsigned char>(~bytes[i])) alias[i] = bytes[i];
    }
  }
};

// Writes in order of arrival, so that a later write to the same place wins.
class Invisible {
 public:
  void add(std::uint64_t nic, int device, unsigned char* alias, std::size_t length) {
    const std::lock_guard lock(mutex_);
    // What was hidden there is shown first: this write may have landed before that one was
    // announced, and then its bytes are the hidden ones.
    release_if([&](const Write& w) { return w.overlaps(alias, length); });
    Bytes real(alias, alias + length);
    for (std::size_t i = 0; i < length; ++i) alias[i] = static_cast<unsigned char>(~real[i]);
    writes_.push_back({nic, device, alias, std::move(real), Clock::now() + delay()});
    start_timer();
    changed_.notify_one();
  }

  void release_if(const std::function<bool(const Write&)>& chosen) {
    std::erase_if(writes_, [&](const Write& w) {
      if (!chosen(w)) return false;
      w.show();
      return true;
    });
  }

  void release(const std::function<bool(const Write&)>& chosen) {
    const std::lock_guard lock(mutex_);
    release_if(chosen);
  }

  void forget(const unsigned char* alias, std::size_t length) {
    const std::lock_guard lock(mutex_);
    std::erase_if(writes_, [&](const Write& w) { return w.overlaps(alias, length); });
  }

  std::size_t bytes() {
    const std::lock_guard lock(mutex_);
    std::size_t sum = 0;
    for (const Write& w : writes_) sum += w.bytes.size();
    return sum;
  }

 private:
  // Between one and two times the setting, so that order between writes is not kept.
  Clock::duration delay() {
    const int least = settings().visible_after_ms;
    return std::chrono::milliseconds(std::uniform_int_distribution<>(least, 2 * least)(random_));
  }

  void start_timer() {
    if (timer_runs_) return;
    timer_runs_ = true;
    std::thread([this] { run_timer(); }).detach();
  }

  [[noreturn]] void run_timer() {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto now = Clock::now();
      release_if([&](const Write& w) { return w.due <= now; });
      const auto next =
          std::min_element(writes_.begin(), writes_.end(),
                           [](const Write& a, const Write& b) { return a.due < b.due; });
      if (next == writes_.end()) {
        changed_.wait(lock);
      } else {
        changed_.wait_until(lock, next->due);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Write> writes_;
  std::mt19937_64 random_{settings().seed};
  bool timer_runs_ = false;
};

Invisible& invisible() {
  static Invisible& only = *new Invisible;
  return only;
}

// A device that keeps the order of writes for its owner has nothing to flush.
bool delayed() {
  const Settings& s = settings();
  return s.visible_after_ms > 0 && s.writes_ordering < CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER;
}

const void* device_address(const void* address) {
  if (is_device_address(address)) return address;
  return static_cast<const unsigned char*>(address) - kWindowBytes;
}

}  // namespace

void make_writes_visible(int device) {
  invisible().release([&](const Write& w) { return w.device == device; });
}

void forget_writes(const void* alias, std::size_t bytes) {
  if (delayed()) invisible().forget(static_cast<const unsigned char*>(alias), bytes);
}

}  // namespace emugpu

using namespace emugpu;

void emugpu_nic_wrote(std::uint64_t nic, const void* address, std::size_t bytes) {
  if (!delayed() || bytes == 0) return;
  const void* on_device = device_address(address);
  const auto block = memory().find_block(on_device, bytes);
  if (!block) return;
  invisible().add(nic, block->device, static_cast<unsigned char*>(alias_of(on_device)), bytes);
}

void emugpu_nic_read(std::uint64_t nic, const void* address, std::size_t bytes) {
  if (!delayed() || bytes == 0) return;
  const auto block = memory().find_block(device_address(address), bytes);
  if (!block) return;
  log(kLogCall, "read from device %d through NIC %llu", block->device,
      static_cast<unsigned long long>(nic));
  invisible().release([&](const Write& w) { return w.nic == nic && w.device == block->device; });
}

std::size_t emugpu_invisible_bytes() { return invisible().bytes(); }
