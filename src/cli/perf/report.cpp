// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What rank 0 prints.
#include "src/cli/perf/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

namespace fabrail::cli::perf {
namespace {

using Figure = std::optional<double> Row::*;

/// Four significant digits (fewer below 0.1) without an exponent, or '-'.
std::string number(std::optional<double> value) {
  if (!value) return "-";
  if (*value == 0) return "0";
  const int digits = static_cast<int>(std::floor(std::log10(std::fabs(*value)))) + 1;
  return fmt::format("{:.{}f}", *value, std::clamp(4 - digits, 0, 5));
}

struct Column {
  const char* title;
  Figure figure;
};

/// The figures that a test is about, in the order of printing; the first one has a raw partner.
std::vector<Column> columns_of(TestKind test) {
  switch (test) {
    case TestKind::kLatency:
      return {{"p50 us", &Row::p50_us}, {"p99 us", &Row::p99_us}};
    case TestKind::kBandwidth:
      return {{"GB/s", &Row::gbytes_per_s}, {"msg/s", &Row::msgs_per_s}};
    case TestKind::kRate:
      return {{"msg/s", &Row::msgs_per_s}};
    case TestKind::kAllReduce:
    case TestKind::kAllToAll:
      return {{"busbw GB/s", &Row::busbw_gbytes_per_s},
              {"algbw GB/s", &Row::gbytes_per_s},
              {"p50 us", &Row::p50_us},
              {"p99 us", &Row::p99_us}};
  }
  return {};
}

constexpr Column kCostColumns[] = {{"calls/msg", &Row::posts_per_msg},
                                   {"compl/msg", &Row::completions_per_msg},
                                   {"ctrl B/msg", &Row::control_bytes_per_msg},
                                   {"copy B/msg", &Row::copied_bytes_per_msg}};

void print_line(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);  // so that a pipe shows progress, too
}

std::string cell(const std::string& text) { return fmt::format("{:>15}", text); }

std::string header(TestKind test, bool with_raw) {
  const std::vector<Column> columns = columns_of(test);
  std::string line = "#" + fmt::format("{:>9}", "size") + fmt::format("{:>9}", "iters");
  for (const Column& column : columns) line += cell(column.title);
  if (with_raw) line += cell(std::string("raw ") + columns.front().title) + cell("ratio");
  for (const Column& column : kCostColumns) line += cell(column.title);
  return line + cell("wrong");
}

std::string body(const Row& row, const std::optional<Row>& raw, bool with_raw) {
  const std::vector<Column> columns = columns_of(row.plan.test);
  std::string line = fmt::format("{:>10}{:>9}", format_size(row.plan.bytes), row.plan.iterations);
  for (const Column& column : columns) line += cell(number(row.*column.figure));
  if (with_raw) {
    const Figure figure = columns.front().figure;
    line += cell(raw ? number((*raw).*figure) : "-");
    line += cell(raw ? number(ratio(row, *raw)) : "-");
  }
  for (const Column& column : kCostColumns) line += cell(number(row.*column.figure));
  return line + cell(row.wrong ? std::to_string(*row.wrong) : "-");
}

}  // namespace

Report::Report(Style style, Identity plugin, const std::string& headline)
    : style_(style), plugin_(std::move(plugin)) {
  raw_.ranks = plugin_.ranks;
  if (!style_.json) print_line(headline);
}

void Report::set_raw_provider(const std::string& provider) {
  if (!style_.json && raw_.provider != provider) {
    print_line("# raw: libfabric provider " + provider);
  }
  raw_.provider = provider;
}

void Report::begin_test(TestKind test, const std::string& description) {
  if (style_.json) return;
  print_line("#\n# " + std::string(name_of(test)) + ": " + description);
  print_line(header(test, style_.with_raw));
}

void Report::add(const Row& row, const std::optional<Row>& raw) {
  if (!style_.json) {
    print_line(body(row, raw, style_.with_raw));
    return;
  }
  nlohmann::ordered_json object = to_json(row, plugin_, false);
  const std::optional<double> quotient = raw ? ratio(row, *raw) : std::nullopt;
  if (quotient) object["ratio"] = *quotient;
  print_line(object.dump());
  if (raw) print_line(to_json(*raw, raw_, true).dump());
}

void Report::end(uint64_t wrong, bool checked) {
  if (style_.json) return;
  print_line(checked ? fmt::format("#\n# wrong in all: {}", wrong) : "#\n# not checked (-c 0)");
}

}  // namespace fabrail::cli::perf
