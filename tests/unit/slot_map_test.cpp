// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Names of objects: found while they live, never after.
#include "src/base/slot_map.h"

#include <gtest/gtest.h>

#include <set>

namespace fabrail {
namespace {

using Map = SlotMap<int, 3, 2>;

std::uint32_t add(Map& map, int value) {
  const auto key = map.reserve();
  EXPECT_TRUE(key.has_value());
  map.put(*key, std::make_unique<int>(value));
  return *key;
}

TEST(SlotMap, FindsWhatItHolds) {
  Map map;
  const auto a = add(map, 1);
  const auto b = add(map, 2);
  EXPECT_EQ(*map.find(a), 1);
  EXPECT_EQ(*map.find(b), 2);
  EXPECT_EQ(map.size(), 2u);
}

TEST(SlotMap, DoesNotFindTheSuccessorUnderAnOldKey) {
  Map map;
  const auto old = add(map, 1);
  map.take(old);
  for (std::size_t i = 0; i < Map::kCapacity; ++i) add(map, 2);
  EXPECT_EQ(map.find(old), nullptr);
}

TEST(SlotMap, RefusesMoreThanItsCapacityAndRecovers) {
  Map map;
  std::set<std::uint32_t> keys;
  for (std::size_t i = 0; i < Map::kCapacity; ++i) keys.insert(add(map, 0));
  EXPECT_EQ(keys.size(), Map::kCapacity);
  EXPECT_FALSE(map.reserve().has_value());
  map.take(*keys.begin());
  EXPECT_TRUE(map.reserve().has_value());
}

TEST(SlotMap, BringsAKeyBackOnlyAfterAllGenerations) {
  Map map;
  const auto first = add(map, 0);
  map.take(first);
  std::size_t uses = 0;
  while (true) {
    const auto key = add(map, 0);
    ++uses;
    map.take(key);
    if (key == first) break;
  }
  EXPECT_GE(uses, Map::kCapacity / 2 * 3) << "keys must come back as late as possible";
}

TEST(SlotMap, IgnoresKeysThatItNeverGave) {
  Map map;
  EXPECT_EQ(map.find(7), nullptr);
  EXPECT_EQ(map.find(~0u), nullptr);
  EXPECT_EQ(map.take(5), nullptr);
}

}  // namespace
}  // namespace fabrail
