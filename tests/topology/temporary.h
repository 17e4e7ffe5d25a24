// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Files of one test process, gone when it ends.
#pragma once

#include <string>

namespace fabrail::topology::testing {

/// Writes `text` into a file `name` that no other process uses.  Returns  its path.
std::string temporary_file(const std::string& name, const std::string& text);

}  // namespace fabrail::topology::testing
