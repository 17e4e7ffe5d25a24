// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The machine as a drawing.
#pragma once

#include <iosfwd>

#include "src/cli/topo/scene.h"

namespace fabrail::cli::topo {

/// Writes one SVG image that needs nothing else: NUMA nodes side by side, in each its switches with
/// GPUs on the left and NICs on the right, joined by what carries GPUDirect.
void write_svg(const Scene& scene, std::ostream& out);

}  // namespace fabrail::cli::topo
