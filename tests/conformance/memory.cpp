// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Patterns, canaries and mappings.
#include "tests/conformance/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "tests/conformance/device.h"
#include "tests/conformance/options.h"

namespace fabrail::conformance {
namespace {

constexpr size_t kZone = 4096;  // canary bytes on each side

size_t page_round(size_t size) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

std::byte* map(size_t size, void* where = nullptr) {
  const int fixed = where == nullptr ? 0 : MAP_FIXED;
  void* const p = mmap(where, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(p);
}

// splitmix64: each word depends on the seed and its position alone.
uint64_t word(uint64_t seed, uint64_t index) {
  uint64_t z = seed * 0xD1B54A32D192ED03ull + (index + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// What a GPU's memory holds.
std::vector<std::byte> image_of(std::span<const std::byte> bytes) {
  std::vector<std::byte> image(bytes.size());
  read_bytes(image.data(), bytes);
  return image;
}

void set(std::byte* memory, std::byte value, size_t size) {
  if (device::holds(memory)) return device::gpu().fill(memory, value, size);
  std::memset(memory, static_cast<int>(value), size);
}

testing::AssertionResult wrong_at(size_t offset, size_t size, std::byte found) {
  return testing::AssertionFailure() << "wrong byte at offset " << offset << " of " << size
                                     << ": found 0x" << std::hex << static_cast<int>(found);
}

}  // namespace

void write_bytes(Bytes to, const void* from) {
  if (device::holds(to.data())) return device::gpu().write(to.data(), from, to.size());
  if (!to.empty()) std::memcpy(to.data(), from, to.size());
}

void read_bytes(void* to, std::span<const std::byte> from) {
  if (device::holds(from.data())) return device::gpu().read(to, from.data(), from.size());
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

void fill_pattern(Bytes bytes, uint64_t seed) {
  if (device::holds(bytes.data())) {
    std::vector<std::byte> image(bytes.size());
    fill_pattern(image, seed);
    return write_bytes(bytes, image.data());
  }
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    const uint64_t value = word(seed, at / sizeof value);
    std::memcpy(bytes.data() + at, &value, std::min(sizeof value, bytes.size() - at));
  }
}

testing::AssertionResult has_pattern(std::span<const std::byte> bytes, uint64_t seed) {
  if (device::holds(bytes.data())) return has_pattern(image_of(bytes), seed);
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    const uint64_t value = word(seed, at / sizeof value);
    const size_t size = std::min(sizeof value, bytes.size() - at);
    if (std::memcmp(bytes.data() + at, &value, size) == 0) continue;
    return wrong_at(at, bytes.size(), bytes[at]) << " (in this 8-byte word), seed " << seed;
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult holds_only(std::span<const std::byte> bytes, std::byte value) {
  if (device::holds(bytes.data())) return holds_only(image_of(bytes), value);
  const auto wrong = std::find_if(bytes.begin(), bytes.end(), [&](auto b) { return b != value; });
  if (wrong == bytes.end()) return testing::AssertionSuccess();
  return wrong_at(static_cast<size_t>(wrong - bytes.begin()), bytes.size(), *wrong);
}

Buffer::Buffer(size_t size, size_t misalign, Place place)
    : mapped_size_(page_round(size + misalign + 2 * kZone)),
      mapped_(place == Place::kAsAsked && options().device_memory() ? device::allocate(mapped_size_)
                                                                    : map(mapped_size_)),
      data_(mapped_ + kZone + misalign),
      size_(size) {
  set(mapped_, kCanary, mapped_size_);
  clear();
}

Buffer::~Buffer() {
  if (device::holds(mapped_)) {
    device::release(mapped_);
  } else {
    munmap(mapped_, mapped_size_);
  }
}

void Buffer::clear() const { set(data_, kUntouched, size_); }

testing::AssertionResult Buffer::intact() const {
  const std::byte* const end = data_ + size_;
  if (auto before = holds_only({mapped_, data_}, kCanary); !before) return before << " before";
  if (auto after = holds_only({end, mapped_ + mapped_size_}, kCanary); !after) {
    return after << " after";
  }
  return testing::AssertionSuccess();
}

Pages::Pages(size_t size) : size_(page_round(size)), data_(map(size_)) {}
Pages::~Pages() { munmap(data_, size_); }
void Pages::forbid() const { mprotect(data_, size_, PROT_NONE); }

void Pages::replace() const {
  munmap(data_, size_);
  map(size_, data_);
  std::memset(data_, static_cast<int>(kCanary), size_);
}

}  // namespace fabrail::conformance
