// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Tables of docs/gpu-memory.md, as the tests read them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace fabrail::gpu {

/// The cells of a row by the name of their column.
using Row = std::map<std::string, std::string>;

/// The rows of the table below the heading "## Table: NAME"; empty if there is none.
std::vector<Row> read_table(const std::string& name);

/// A row as one line, for messages.
std::string to_text(const Row& row);

/// The numbers of "MAJOR.MINOR".
std::pair<int, int> version_of(const std::string& text);

}  // namespace fabrail::gpu
