// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Delayed visibility: what a NIC wrote into device memory stays unseen until something pushes it.
#pragma once

#include <cstddef>

namespace emugpu {

/// The driver's flush: everything that any NIC wrote to this device's memory becomes visible.
void make_writes_visible(int device);

/// The memory is gone: so are writes into it that nothing had pushed. `alias` is the CPU's address.
void forget_writes(const void* alias, std::size_t bytes);

}  // namespace emugpu
