// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the tests of src/gpu over the emulated driver share: the driver opened, memory of each kind.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "src/gpu/driver.h"
#include "tests/sim/gpu/emugpu.h"
#include "tests/sim/gpu/tests/fresh_process.h"

namespace fabrail::gpu {

using emugpu::allocate;
using emugpu::bind_device;
using emugpu::in_fresh_process;
using emugpu::pointer;

/// The driver; a test without one ends at once.
inline Driver open_driver() {
  auto driver = Driver::open();
  if (driver.ok()) return driver.take();
  ADD_FAILURE() << driver.error().text();
  _exit(1);
}

/// Fails unless `error` contains every part.
inline void expect_parts(const Error& error, std::initializer_list<const char*> parts) {
  const std::string text(error.text());
  for (const char* part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

/// Mapped memory of virtual memory management: `pieces` of 2 MiB, one behind the other.
CUdeviceptr map_pieces(int pieces, int device = 0, bool for_nics = true);

}  // namespace fabrail::gpu
