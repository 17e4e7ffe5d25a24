// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The machine as a picture for a terminal.
#pragma once

#include <iosfwd>
#include <string>

#include "src/cli/topo/scene.h"

namespace fabrail::cli::topo {

/// Draws a tree of NUMA nodes, switches, GPUs and devices, and says what was decided. UTF-8; at
/// most 100 columns for every type in the table. `color` gives each device a color that its GPUs
/// share.
void draw_picture(const Scene& scene, bool color, std::ostream& out);

/// One line about the machine as a whole.
std::string headline(const Scene& scene);
/// One line about its devices.
std::string summary(const Scene& scene);

}  // namespace fabrail::cli::topo
