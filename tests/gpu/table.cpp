// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "tests/gpu/table.h"

#include <cstdio>
#include <fstream>

namespace fabrail::gpu {

namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::size_t begin = 1;  // after the bar that opens the row
  for (std::size_t bar = line.find('|', begin); bar != std::string::npos;
       bar = line.find('|', begin)) {
    cells.push_back(trimmed(line.substr(begin, bar - begin)));
    begin = bar + 1;
  }
  return cells;
}

bool is_rule(const std::string& line) { return line.starts_with("|---"); }

}  // namespace

std::vector<Row> read_table(const std::string& name) {
  std::ifstream document(FABRAIL_GPU_DOCUMENT);
  std::string line;
  while (std::getline(document, line) && line != "## Table: " + name) continue;
  std::vector<std::string> columns;
  std::vector<Row> rows;
  while (std::getline(document, line) && !line.starts_with("#")) {
    if (!line.starts_with("|") || is_rule(line)) continue;
    const std::vector<std::string> cells = cells_of(line);
    if (columns.empty()) {
      columns = cells;
      continue;
    }
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < columns.size(); ++i) row[columns[i]] = cells.at(i);
  }
  return rows;
}

std::string to_text(const Row& row) {
  std::string text;
  for (const auto& [column, cell] : row) text += column + "=" + cell + "  ";
  return text;
}

std::pair<int, int> version_of(const std::string& text) {
  std::pair<int, int> version;
  std::sscanf(text.c_str(), "%d.%d", &version.first, &version.second);
  return version;
}

}  // namespace fabrail::gpu
