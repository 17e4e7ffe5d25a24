// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What rank 0 prints: a table for people or one JSON object a line, a row as soon as it is there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/cli/perf/row.h"

namespace fabrail::cli::perf {

class Report {
 public:
  struct Style {
    bool json = false;
    bool with_raw = false;
  };

  /// `headline` describes the run; only the table shows it.
  Report(Style style, Identity plugin, const std::string& headline);

  /// The provider of the raw rows, once known.
  void set_raw_provider(const std::string& provider);
  void begin_test(TestKind test, const std::string& description);
  void add(const Row& row, const std::optional<Row>& raw);
  void end(uint64_t wrong, bool checked);

 private:
  Style style_;
  Identity plugin_;
  Identity raw_;
};

}  // namespace fabrail::cli::perf
