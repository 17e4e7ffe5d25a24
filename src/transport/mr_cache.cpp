// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/transport/mr_cache.h"

#include <iterator>

namespace fabrail::transport {

std::span<std::byte> MrCache::whole_pages(std::byte* data, std::size_t bytes) const {
  const std::size_t before = reinterpret_cast<std::uintptr_t>(data) % page_bytes_;
  const std::size_t pages = (before + bytes + page_bytes_ - 1) / page_bytes_;
  return {data - before, pages * page_bytes_};
}

RegisteredRange* MrCache::take_known(std::span<std::byte> range, int device) {
  auto after = ranges_.upper_bound(range.data());
  for (int step = 0; step < kLookBack && after != ranges_.begin(); ++step) {
    --after;
    RegisteredRange& known = *after->second;
    if (known.device_ != device ||
        known.range_.data() + known.range_.size() < range.data() + range.size())
      continue;
    ++known.users_;
    return &known;
  }
  return nullptr;
}

template <typename OpenOne>
Result<RegisteredRange*> MrCache::add(std::span<std::byte> range, int device, OpenOne&& open_one) {
  std::uint64_t key = 0;
  {
    const MutexLock lock(mutex_);
    key = next_key_++;
  }
  std::vector<fabric::MemoryRegion> regions;
  regions.reserve(rails_.size());
  for (const auto& rail : rails_) {
    FR_TRY_ASSIGN(auto region, open_one(rail->endpoint(), key));
    regions.push_back(std::move(region));
  }
  auto opened = std::make_unique<RegisteredRange>(range, device, std::move(regions));
  opened->users_ = 1;
  RegisteredRange* result = opened.get();
  const MutexLock lock(mutex_);
  ranges_.emplace(range.data(), std::move(opened));
  return result;
}

Result<RegisteredRange*> MrCache::acquire(std::byte* data, std::size_t bytes) {
  const std::span<std::byte> range = whole_pages(data, bytes);
  {
    const MutexLock lock(mutex_);
    if (RegisteredRange* found = take_known(range, kHostMemory)) return found;
  }
  return add(range, kHostMemory, [&](const fabric::Endpoint& endpoint, std::uint64_t key) {
    return fabric::MemoryRegion::open(endpoint, range, key);
  });
}

RegisteredRange* MrCache::acquire_device(std::span<std::byte> range, int device) {
  const MutexLock lock(mutex_);
  return take_known(range, device);
}

Result<RegisteredRange*> MrCache::add_device(const fabric::DeviceRange& range, int device) {
  return add(range.bytes, device, [&](const fabric::Endpoint& endpoint, std::uint64_t key) {
    return fabric::MemoryRegion::open_device(endpoint, range, key);
  });
}

void MrCache::release(RegisteredRange& range) {
  std::unique_ptr<RegisteredRange> last;  // closed outside the lock
  const MutexLock lock(mutex_);
  if (--range.users_ != 0) return;
  const auto [begin, end] = ranges_.equal_range(range.bytes().data());
  for (auto it = begin; it != end; ++it) {
    if (it->second.get() != &range) continue;
    last = std::move(it->second);
    ranges_.erase(it);
    return;
  }
}

std::size_t MrCache::size() {
  const MutexLock lock(mutex_);
  return ranges_.size();
}

}  // namespace fabrail::transport
