// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// GPU memory for messages: with --memory device every Buffer is of this kind.
#pragma once

#include "src/cli/perf/gpu_memory.h"

namespace fabrail::conformance::device {

/// The first GPU. Throws without one.
const cli::perf::GpuMemory& gpu();

/// Memory of it, which holds() knows. The CPU must not touch it.
/// Thread  any, as all of these.
std::byte* allocate(size_t bytes);
void release(std::byte* memory);
/// Whether an address is in what allocate() gave.
bool holds(const void* address);

}  // namespace fabrail::conformance::device
