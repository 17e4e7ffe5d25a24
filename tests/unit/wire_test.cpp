// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Bounds of the byte reader and writer.
#include "src/base/wire.h"

#include <gtest/gtest.h>

#include <array>

namespace fabrail::wire {
namespace {

TEST(Reader, GivesZeroAndRemembersOnceItRanOut) {
  const std::array<std::byte, 3> bytes{std::byte{1}, std::byte{2}, std::byte{3}};
  Reader reader(bytes);
  EXPECT_EQ(reader.get<std::uint16_t>(), 0x0201);
  EXPECT_EQ(reader.get<std::uint32_t>(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.get<std::uint8_t>(), 0)
      << "the byte that is left must not be read after a failure";
}

TEST(Writer, WritesNothingBeyondItsBuffer) {
  std::array<std::byte, 4> bytes{};
  Writer writer{std::span(bytes).first(3)};
  writer.put(std::uint16_t{0xffff});
  writer.put(std::uint16_t{0xffff});
  EXPECT_FALSE(writer.ok());
  EXPECT_EQ(writer.used(), 2u);
  EXPECT_EQ(bytes[3], std::byte{0});
}

}  // namespace
}  // namespace fabrail::wire
