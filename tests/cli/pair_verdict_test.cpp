// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What `fabrail pair` concludes from what it has seen, and how it shows that.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "src/cli/common/failure.h"
#include "src/cli/doctor/report.h"
#include "src/cli/doctor/text.h"
#include "src/cli/pair/partner.h"
#include "src/cli/pair/report.h"
#include "src/cli/pair/statistics.h"
#include "src/cli/pair/verdict.h"

namespace fabrail::cli::pair {
namespace {

constexpr int kSlow = 60;

Side side(const std::string& host, std::size_t rails) {
  Side result{.host = host, .provider = "efa", .libfabric = "1.22", .problem = {}, .rails = {}};
  for (std::size_t i = 0; i < rails; ++i)
    result.rails.push_back({fmt::format("rdmap{}s0", 80 + i), 100000, 8928});
  return result;
}

Grid healthy_grid(std::size_t senders, std::size_t receivers) {
  Grid grid(senders, receivers);
  for (Path& path : grid.paths) {
    path.reach = Reach::kArrived;
    path.gbits = 92.5;
    path.micros = 15.5;
  }
  return grid;
}

Outcome healthy(std::size_t a = 4, std::size_t b = 4) {
  return {side("gpu1", a), side("gpu2", b), healthy_grid(a, b), healthy_grid(b, a)};
}

void silence(Path& path) { path = {}; }

void change_row(Grid& grid, std::size_t row, const std::function<void(Path&)>& change) {
  for (std::size_t column = 0; column < grid.columns; ++column) change(grid.at(row, column));
}

void change_column(Grid& grid, std::size_t column, const std::function<void(Path&)>& change) {
  for (std::size_t row = 0; row < grid.rows; ++row) change(grid.at(row, column));
}

doctor::Findings problems_of(const Outcome& outcome) {
  doctor::Findings findings = judge(outcome, kSlow);
  std::erase_if(findings,
                [](const doctor::Finding& one) { return one.verdict < doctor::Verdict::kWarning; });
  return findings;
}

std::string describe(const doctor::Findings& findings) {
  std::string text;
  for (const doctor::Finding& finding : findings)
    text += finding.check + ": " + finding.fact + "\n";
  return text;
}

TEST(PairVerdict, HealthyPairHasNoProblem) {
  EXPECT_EQ(describe(problems_of(healthy())), "");
  EXPECT_EQ(describe(problems_of(healthy(1, 1))), "");
  EXPECT_EQ(doctor::exit_code(judge(healthy(), kSlow)), 0);
}

struct Fault {
  const char* name;
  std::function<void(Outcome&)> damage;
  const char* check;
  doctor::Verdict verdict;
  const char* phrase;
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

std::vector<Fault> paths_that_fail() {
  using enum doctor::Verdict;
  return {
      {"Blocked",
       [](Outcome& outcome) {
         outcome.a_to_b = Grid(4, 4);
         outcome.b_to_a = Grid(4, 4);
       },
       "pair.blocked", kBroken, "in either direction"},
      {"BlockedOneWay", [](Outcome& outcome) { outcome.b_to_a = Grid(4, 4); }, "pair.blocked",
       kBroken, "from B to A"},
      {"BlockedWithError",
       [](Outcome& outcome) {
         for (Grid* grid : {&outcome.a_to_b, &outcome.b_to_a}) {
           for (Path& path : grid->paths)
             path = {.reach = Reach::kFailed, .error = "No route to host"};
         }
       },
       "pair.blocked", kBroken, "libfabric says: No route to host"},
      {"DeadRail",
       [](Outcome& outcome) {
         change_row(outcome.a_to_b, 2, silence);
         change_column(outcome.b_to_a, 2, silence);
       },
       "pair.dead-rail", kBroken, "dead: rail 2 of A (rdmap82s0)"},
      {"RailThatOnlyReceives", [](Outcome& outcome) { change_row(outcome.b_to_a, 1, silence); },
       "pair.dead-rail", kBroken, "dead: rail 1 of B (rdmap81s0) when it sends"},
      {"LostPath", [](Outcome& outcome) { silence(outcome.a_to_b.at(0, 3)); }, "pair.lost-path",
       kBroken, "1 path dead, though their rails work: A 0 (rdmap80s0) to B 3 (rdmap83s0)"},
      {"LargeStuck",
       [](Outcome& outcome) {
         for (Path& path : outcome.a_to_b.paths) {
           path.large_stuck = true;
           path.gbits.reset();
         }
       },
       "pair.large", kBroken, "large ones do not"},
  };
}

std::vector<Fault> paths_that_lag() {
  using enum doctor::Verdict;
  const auto slow = [](Path& path) { path.gbits = 20; };
  return {
      {"SlowRail",
       [&](Outcome& outcome) {
         change_row(outcome.b_to_a, 3, slow);
         change_column(outcome.a_to_b, 3, slow);
       },
       "pair.slow-rail", kWarning, "slow: rail 3 of B (rdmap83s0)"},
      {"SlowPath", [&](Outcome& outcome) { slow(outcome.a_to_b.at(1, 2)); }, "pair.slow-path",
       kWarning, "1 path slow"},
      {"SlowDirection",
       [](Outcome& outcome) {
         for (Path& path : outcome.a_to_b.paths) path.gbits = 60;
         for (Path& path : outcome.b_to_a.paths) path.gbits = 35;
       },
       "pair.direction", kWarning, "A to B goes at 60.0 Gb/s, B to A at 35.0"},
      {"LateRail",
       [](Outcome& outcome) {
         const auto late = [](Path& path) { path.micros = 200; };
         change_row(outcome.a_to_b, 0, late);
         change_column(outcome.b_to_a, 0, late);
       },
       "pair.latency", kWarning, "late: rail 0 of A"},
  };
}

std::vector<Fault> sides_that_differ() {
  using enum doctor::Verdict;
  return {
      {"LinkRates", [](Outcome& outcome) { outcome.b.rails[1].speed_mbps = 200000; },
       "pair.link-rate", kWarning, "rail 1: 100 and 200"},
      {"Mtus", [](Outcome& outcome) { outcome.a.rails[0].mtu = 1500; }, "pair.mtu", kWarning,
       "rail 0: 1500 and 8928"},
      {"RailCounts", [](Outcome& outcome) { outcome = healthy(4, 3); }, "pair.rail-count", kWarning,
       "gpu1 has 4 rails, gpu2 has 3 rails"},
      {"Versions", [](Outcome& outcome) { outcome.b.libfabric = "2.1"; }, "pair.libfabric",
       kWarning, "libfabric 1.22 and 2.1"},
      {"Providers", [](Outcome& outcome) { outcome.b.provider = "tcp;ofi_rxm"; }, "pair.provider",
       kBroken, "gpu1 uses efa, gpu2 uses tcp;ofi_rxm"},
      {"NoRails", [](Outcome& outcome) { outcome.b.problem = "no NIC"; }, "pair.rails", kBroken,
       "gpu2 has no rails: no NIC"},
  };
}

std::vector<Fault> faults() {
  std::vector<Fault> all = paths_that_fail();
  for (const auto& more : {paths_that_lag(), sides_that_differ()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

class FaultyPair : public testing::TestWithParam<Fault> {};

TEST_P(FaultyPair, GivesExactlyItsCause) {
  const Fault& fault = GetParam();
  Outcome outcome = healthy();
  fault.damage(outcome);
  const doctor::Findings problems = problems_of(outcome);
  ASSERT_EQ(problems.size(), 1u) << describe(problems);
  EXPECT_EQ(problems[0].check, fault.check);
  EXPECT_EQ(problems[0].verdict, fault.verdict);
  EXPECT_NE(problems[0].fact.find(fault.phrase), std::string::npos) << problems[0].fact;
  EXPECT_FALSE(problems[0].why.empty());
  EXPECT_FALSE(problems[0].action.empty());
}

INSTANTIATE_TEST_SUITE_P(All, FaultyPair, testing::ValuesIn(faults()),
                         [](const auto& one) { return std::string(one.param.name); });

// A machine that is late to answer makes one whole direction late, which is no fault of a rail.
TEST(PairVerdict, EachDirectionHasItsOwnMiddle) {
  Outcome outcome = healthy();
  for (Path& path : outcome.a_to_b.paths) path.micros = 2000;
  outcome.a_to_b.at(0, 0).micros = 15.5;
  EXPECT_EQ(describe(problems_of(outcome)), "");
}

TEST(PairVerdict, NothingIsSlowBelowZeroPercent) {
  Outcome outcome = healthy();
  change_row(outcome.a_to_b, 0, [](Path& path) {
    path.gbits = 0.001;
    path.micros = 1e6;
  });
  for (Path& path : outcome.b_to_a.paths) path.gbits = 0.01;
  EXPECT_NE(doctor::exit_code(judge(outcome, 1)), 0);
  EXPECT_EQ(doctor::exit_code(judge(outcome, 0)), 0);
}

TEST(PairVerdict, NamesTheSecurityGroupOnEfaOnly) {
  Outcome outcome = healthy();
  outcome.a_to_b = outcome.b_to_a = Grid(4, 4);
  EXPECT_NE(problems_of(outcome)[0].action.find("name the group itself"), std::string::npos);
  outcome.a.provider = outcome.b.provider = "tcp;ofi_rxm";
  EXPECT_NE(problems_of(outcome)[0].action.find("TCP on all ports"), std::string::npos);
}

TEST(PairVerdict, DeadRailComesBeforeSlowOne) {
  Outcome outcome = healthy();
  change_row(outcome.a_to_b, 0, [](Path& path) { path.gbits = 10; });
  change_row(outcome.a_to_b, 1, silence);
  const auto problems = problems_of(outcome);
  ASSERT_EQ(problems.size(), 2u) << describe(problems);
  EXPECT_EQ(problems[0].check, "pair.dead-rail");
  EXPECT_EQ(problems[1].check, "pair.slow-rail");
}

std::string text_of(const Outcome& outcome) {
  std::ostringstream out;
  write_text(outcome, judge(outcome, kSlow), {.slow_percent = kSlow}, out);
  return out.str();
}

TEST(PairReport, ShowsNumbersOfFewRails) {
  Outcome outcome = healthy(2, 2);
  outcome.a_to_b.at(0, 1).gbits = 12.25;
  outcome.a_to_b.at(1, 0) = {.reach = Reach::kFailed, .error = "x"};
  EXPECT_EQ(picture_of(directions_of(outcome)[0], kSlow),
            "A to B: rows are rails of A, columns rails of B\n"
            "          0       1\n"
            "   0   92.5    12.2*\n"
            "   1  error    92.5\n");
}

TEST(PairReport, ShowsLettersOfManyRails) {
  Outcome outcome = healthy(2, 12);
  outcome.a_to_b.at(0, 3).gbits = 1;
  outcome.a_to_b.at(0, 4).reach = Reach::kSilent;
  outcome.a_to_b.at(1, 0) = {.reach = Reach::kArrived, .large_stuck = true};
  outcome.a_to_b.at(1, 11) = {.reach = Reach::kArrived};
  EXPECT_EQ(picture_of(directions_of(outcome)[0], kSlow),
            "A to B: rows are rails of A, columns rails of B\n"
            "      0         1\n"
            "      012345678901\n"
            "   0  ooo-xooooooo\n"
            "   1  Loooooooooo?\n");
}

TEST(PairReport, EightyColumnsAreEnough) {
  for (const unsigned rails : {1u, 9u, 10u, 32u, 100u}) {
    Outcome outcome = healthy(rails, rails);
    outcome.a.host = std::string(70, 'h');
    change_row(outcome.a_to_b, 0, silence);
    for (const std::string& line : doctor::lines(text_of(outcome))) {
      EXPECT_LE(line.size(), 80u) << line;
    }
  }
}

TEST(PairReport, JsonHoldsEveryPath) {
  Outcome outcome = healthy(2, 3);
  outcome.a_to_b.at(1, 2) = {.reach = Reach::kFailed, .error = "No route"};
  std::ostringstream out;
  write_json(outcome, judge(outcome, kSlow), {}, out);
  const auto report = nlohmann::json::parse(out.str());
  EXPECT_EQ(report["exit"], 2);
  EXPECT_EQ(report["subject"], "pair");
  EXPECT_EQ(report["a"]["rails"].size(), 2u);
  ASSERT_EQ(report["a_to_b"].size(), 6u);
  EXPECT_EQ(report["a_to_b"][5]["from"], 1);
  EXPECT_EQ(report["a_to_b"][5]["to"], 2);
  EXPECT_EQ(report["a_to_b"][5]["reach"], "failed");
  EXPECT_EQ(report["a_to_b"][5]["error"], "No route");
  EXPECT_EQ(report["b_to_a"][0]["gbits"], 92.5);
}

TEST(PairPartner, CardsAndGridsSurviveTheWay) {
  Card card{.side = side("gpu1", 2), .addresses = {}};
  card.addresses.push_back({{std::byte{0}, std::byte{0xfe}}, 0xffffffff00000000, 7});
  card.addresses.push_back({{}, 1, 2});
  const Card back = decode_card(encode(card));
  EXPECT_EQ(back.side, card.side);
  EXPECT_EQ(back.addresses[0].name, card.addresses[0].name);
  EXPECT_EQ(back.addresses[0].base, card.addresses[0].base);
  EXPECT_EQ(back.addresses[1].key, 2u);
  Grid grid = healthy_grid(2, 3);
  grid.at(1, 1) = {.reach = Reach::kFailed, .error = "x", .large_stuck = true};
  EXPECT_EQ(decode_grid(encode(grid)), grid);
}

TEST(PairPartner, RefusesWhatIsNoMessage) {
  for (const char* text : {"", "[]", "{", R"({"rows":2,"columns":2,"paths":[]})",
                           R"({"rows":1,"columns":1,"paths":[{"reach":9}]})"}) {
    EXPECT_THROW(decode_grid(text), Failure) << text;
  }
  for (const char* text : {"", "7", R"({"host":1})"})
    EXPECT_THROW(decode_card(text), Failure) << text;
}

TEST(PairStatistics, MedianIsTheMiddleValue) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 3);
}

}  // namespace
}  // namespace fabrail::cli::pair
