// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Objects named by small integers that peers and completions carry: a lookup is one array access,
// and the name of a closed object does not find its successor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace fabrail {

/// Owns objects of type T under keys of IndexBits + GenerationBits bits.
///
/// Freed slots are used again in the order in which they were freed, each time with the next
/// generation, so that a key comes back as late as possible. Thread  none of its own; the owner's
/// mutex guards it.
template <typename T, unsigned IndexBits, unsigned GenerationBits>
class SlotMap {
 public:
  static constexpr std::size_t kCapacity = std::size_t{1} << IndexBits;
  static constexpr unsigned kKeyBits = IndexBits + GenerationBits;
  static_assert(kKeyBits <= 32);

  /// Reserves a key for an object that put() will store; none if all slots are taken.
  std::optional<std::uint32_t> reserve() {
    if (slots_.size() < kCapacity && free_.size() < kMinFree) {
      slots_.emplace_back();
      return key_of(static_cast<std::uint32_t>(slots_.size() - 1));
    }
    if (free_.empty()) return std::nullopt;
    const std::uint32_t index = free_.front();
    free_.pop_front();
    return key_of(index);
  }

  void put(std::uint32_t key, std::unique_ptr<T> object) {
    slots_[index_of(key)].object = std::move(object);
    ++size_;
  }

  /// Gives back a key that was reserved and never used.
  void cancel(std::uint32_t key) { recycle(index_of(key)); }

  /// The object called `key`, or null if there is none, or no longer.
  [[nodiscard]] T* find(std::uint32_t key) const {
    const std::uint32_t index = index_of(key);
    if (index >= slots_.size() || (key >> IndexBits) > kGenerationMask) return nullptr;
    const Slot& slot = slots_[index];
    return slot.generation == generation_of(key) ? slot.object.get() : nullptr;
  }

  /// Takes the object out; its key is dead from here on.
  std::unique_ptr<T> take(std::uint32_t key) {
    if (find(key) == nullptr) return nullptr;
    auto object = std::move(slots_[index_of(key)].object);
    recycle(index_of(key));
    --size_;
    return object;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  /// Calls `visit(T&)` for every object; it may not add or remove any.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.object) visit(*slot.object);
    }
  }

 private:
  struct Slot {
    std::unique_ptr<T> object;
    std::uint32_t generation = 0;
  };

  // A freed slot rests while this many others are free, as long as new ones can be made.
  static constexpr std::size_t kMinFree = kCapacity < 64 ? kCapacity / 2 : 64;
  static constexpr std::uint32_t kIndexMask = static_cast<std::uint32_t>(kCapacity - 1);
  static constexpr std::uint32_t kGenerationMask =
      static_cast<std::uint32_t>((std::uint64_t{1} << GenerationBits) - 1);

  static std::uint32_t index_of(std::uint32_t key) { return key & kIndexMask; }
  static std::uint32_t generation_of(std::uint32_t key) {
    return (key >> IndexBits) & kGenerationMask;
  }
  std::uint32_t key_of(std::uint32_t index) const {
    return index | (slots_[index].generation << IndexBits);
  }
  void recycle(std::uint32_t index) {
    slots_[index].generation = (slots_[index].generation + 1) & kGenerationMask;
    free_.push_back(index);
  }

  std::vector<Slot> slots_;
  std::deque<std::uint32_t> free_;
  std::size_t size_ = 0;
};

}  // namespace fabrail
