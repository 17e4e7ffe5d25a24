// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The machine and what was decided, for programs.
#pragma once

#include <iosfwd>

#include "src/cli/topo/scene.h"

namespace fabrail::cli::topo {

/// Writes one JSON object. Keys are only ever added.
void write_json(const Scene& scene, std::ostream& out);

}  // namespace fabrail::cli::topo
