// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The bytes of a checked message, made and compared a word at a time.
#include "src/cli/perf/pattern.h"

#include <bit>
#include <cstring>

namespace fabrail::cli::perf {
namespace {

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;

uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 32)) * kOdd;
  return value ^ (value >> 29);
}

uint64_t seed_of(const MessageId& id) {
  uint64_t seed = mix(id.bytes + 1);
  seed = mix(seed + static_cast<uint64_t>(id.from));
  seed = mix(seed + static_cast<uint64_t>(id.to));
  return mix(seed + id.iteration);
}

uint64_t word(uint64_t seed, uint64_t index) { return (seed + index) * kOdd; }

uint64_t wrong_bytes(uint64_t difference) {
  uint64_t count = 0;
  for (; difference != 0; difference >>= 8) count += (difference & 0xff) != 0 ? 1 : 0;
  return count;
}

/// 1 to 255, different for neighbours, so that a displaced slice shows.
uint32_t base_value(uint64_t iteration, uint64_t index) {
  const auto hash =
      (static_cast<uint32_t>(index) + static_cast<uint32_t>(iteration) * 40503u) * 2654435761u;
  return 1 + (hash >> 24) % 255;
}

/// Bounded: 255 * 64 * 1024 ranks stay below 2^24, where floats stop being exact.
uint32_t weight(int rank) { return 1 + static_cast<uint32_t>(rank) % 64; }

}  // namespace

void fill(std::span<std::byte> message, const MessageId& id, uint64_t offset) {
  const uint64_t seed = seed_of(id) + offset / sizeof(uint64_t);
  const size_t words = message.size() / sizeof(uint64_t);
  for (size_t i = 0; i < words; ++i) {
    const uint64_t value = word(seed, i);
    std::memcpy(message.data() + i * sizeof value, &value, sizeof value);
  }
  const uint64_t last = word(seed, words);
  const size_t whole = words * sizeof last;
  if (message.size() > whole) {
    std::memcpy(message.data() + whole, &last, message.size() - whole);
  }
}

uint64_t count_wrong(std::span<const std::byte> message, const MessageId& id, uint64_t offset) {
  const uint64_t seed = seed_of(id) + offset / sizeof(uint64_t);
  const size_t words = message.size() / sizeof(uint64_t);
  uint64_t wrong = 0;
  for (size_t i = 0; i < words; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, message.data() + i * sizeof value, sizeof value);
    const uint64_t difference = value ^ word(seed, i);
    if (difference != 0) wrong += wrong_bytes(difference);
  }
  uint64_t last = 0;
  uint64_t expected = 0;
  const uint64_t final_word = word(seed, words);
  const size_t whole = words * sizeof last;
  if (message.size() > whole) {
    std::memcpy(&last, message.data() + whole, message.size() - whole);
    std::memcpy(&expected, &final_word, message.size() - whole);
  }
  return wrong + wrong_bytes(last ^ expected);
}

float contribution(int rank, uint64_t iteration, uint64_t index) {
  return static_cast<float>(base_value(iteration, index) * weight(rank));
}

void fill_contribution(std::span<float> elements, int rank, uint64_t iteration) {
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = contribution(rank, iteration, i);
}

uint64_t count_wrong_sums(std::span<const float> elements, int ranks, uint64_t iteration) {
  uint32_t weights = 0;
  for (int rank = 0; rank < ranks; ++rank) weights += weight(rank);
  uint64_t wrong = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto expected = static_cast<float>(base_value(iteration, i) * weights);
    // Bit for bit: also a NaN counts as wrong.
    wrong += std::bit_cast<uint32_t>(elements[i]) != std::bit_cast<uint32_t>(expected) ? 1 : 0;
  }
  return wrong;
}

}  // namespace fabrail::cli::perf
