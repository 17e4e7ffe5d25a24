// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/pair/verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/cli/doctor/text.h"
#include "src/cli/pair/direction.h"
#include "src/cli/pair/statistics.h"

namespace fabrail::cli::pair {

namespace {

using doctor::counted;
using doctor::Finding;
using doctor::Findings;
using doctor::Verdict;

/// Shown names of rails before "and N more".
constexpr std::size_t kMostNames = 4;

void add(Findings& all, Findings some, const char* check) {
  for (Finding& finding : some) {
    finding.check = check;
    all.push_back(std::move(finding));
  }
}

void append(std::vector<RailRole>& all, const std::vector<RailRole>& some) {
  all.insert(all.end(), some.begin(), some.end());
}

std::vector<std::string> single_paths(const std::vector<Direction>& directions,
                                      const Direction::Question& question) {
  std::vector<std::string> found;
  for (const Direction& direction : directions) {
    for (const auto& position : direction.single_paths_where(question))
      found.push_back(direction.describe(position));
  }
  return found;
}

bool is_efa(const Outcome& outcome) { return outcome.a.provider.starts_with("efa"); }

std::string blocked_action(const Outcome& outcome) {
  if (is_efa(outcome)) {
    return "Look at the security group of both: it needs rules in and out for all traffic that "
           "name the group itself (0.0.0.0/0 does not count); and both machines must be in one "
           "subnet.";
  }
  return "Look at security groups and host firewalls between the two: TCP on all ports must be "
         "allowed both ways.";
}

constexpr const char* kBlockedWhy =
    "The two talk over one TCP connection, but the rails' own traffic does not pass. A job would "
    "hang at its start, or end with an error of its first connection.";

/// The first words of libfabric about paths that failed, if any did.
std::string quoted_error(const std::vector<Direction>& directions) {
  for (const Direction& direction : directions) {
    for (const Path& path : direction.grid.paths) {
      if (!path.error.empty()) return fmt::format("; libfabric says: {}", path.error);
    }
  }
  return {};
}

/// Nothing arrives in one direction, or in both.
Findings judge_blocked(const Outcome& outcome, const std::vector<Direction>& directions) {
  std::vector<std::string> closed;
  for (const Direction& direction : directions) {
    if (direction.arrived() == 0) closed.push_back(direction.text());
  }
  if (closed.empty()) return {};
  const std::string where = closed.size() == 2 ? "in either direction" : "from " + closed[0];
  return doctor::broken(
      fmt::format("no message arrived {} on any rail{}", where, quoted_error(directions)),
      kBlockedWhy, blocked_action(outcome));
}

std::optional<bool> is_dead(const Path& path) { return path.reach != Reach::kArrived; }

/// Rails on which nothing goes in a direction that works for others.
Findings judge_dead_rails(const std::vector<Direction>& directions) {
  std::vector<RailRole> dead;
  for (const Direction& direction : directions) {
    if (direction.arrived() > 0) append(dead, direction.rails_where(is_dead));
  }
  if (dead.empty()) return {};
  return doctor::broken(
      fmt::format("dead: {}{}", doctor::list_of(describe(dead), kMostNames),
                  quoted_error(directions)),
      "Connections over a dead rail fail or hang; with the others alone bandwidth shrinks.",
      "Look at the NIC's state (rdma link, kernel log) and cable or card on that machine; compare "
      "with a third machine to see which side it is.");
}

/// Paths that fail although both their rails work elsewhere.
Findings judge_lost_paths(const std::vector<Direction>& directions) {
  const auto lost = single_paths(directions, is_dead);
  if (lost.empty()) return {};
  return doctor::broken(
      fmt::format("{} dead, though their rails work: {}{}", counted(lost.size(), "path"),
                  doctor::list_of(lost, kMostNames), quoted_error(directions)),
      "NCCL connects any rail with any other; these connections will fail.",
      "Look for a subnet or route that some NICs have and others have not.");
}

Findings judge_stuck(const std::vector<Direction>& directions) {
  std::vector<std::string> stuck;
  for (const Direction& direction : directions) {
    for (std::size_t i = 0; i < direction.grid.paths.size(); ++i) {
      if (!direction.grid.paths[i].large_stuck) continue;
      stuck.push_back(direction.describe({i / direction.grid.columns, i % direction.grid.columns}));
    }
  }
  if (stuck.empty()) return {};
  return doctor::broken(
      fmt::format("small messages arrive, large ones do not: {}",
                  doctor::list_of(stuck, kMostNames)),
      "That is what a path looks like whose MTU is smaller than its ends believe, or one that "
      "loses packets.",
      "Compare the MTU of both ends and of everything between them.");
}

/// Each direction is compared with itself; how the two differ is another question.
Findings judge_slow(const std::vector<Direction>& directions, int percent) {
  std::vector<RailRole> rails;
  std::vector<std::string> paths;
  for (const Direction& direction : directions) {
    const double limit = slow_limit(direction.grid, percent);
    const auto is_slow = [&](const Path& path) -> std::optional<bool> {
      if (!path.gbits) return std::nullopt;
      return *path.gbits < limit;
    };
    append(rails, direction.rails_where(is_slow));
    for (const auto& position : direction.single_paths_where(is_slow))
      paths.push_back(direction.describe(position));
  }
  constexpr const char* kWhy =
      "A collective goes at the speed of its slowest rail: all ranks wait for it.";
  constexpr const char* kAction =
      "Look at the NIC's error counters and link, and for other traffic on it; run again to see "
      "whether it stays.";
  Findings findings;
  if (!rails.empty()) {
    add(findings,
        doctor::warning("slow: " + doctor::list_of(describe(rails), kMostNames), kWhy, kAction),
        "pair.slow-rail");
  }
  if (!paths.empty()) {
    add(findings,
        doctor::warning(
            fmt::format("{} slow, though their rails are not: {}", counted(paths.size(), "path"),
                        doctor::list_of(paths, kMostNames)),
            kWhy, kAction),
        "pair.slow-path");
  }
  return findings;
}

Findings judge_direction(const Outcome& outcome, int percent) {
  const double there = median(rates_of(outcome.a_to_b));
  const double back = median(rates_of(outcome.b_to_a));
  if (there == 0 || back == 0) return {};
  const double slower = std::min(there, back);
  if (slower >= std::max(there, back) * percent / 100) return {};
  return doctor::warning(
      fmt::format("A to B goes at {:.1f} Gb/s, B to A at {:.1f}", there, back),
      "Both directions of a NIC have the same rate; collectives use both at once.",
      "Look for other traffic, or for a machine whose CPUs or memory are busy.");
}

Findings judge_latency(const std::vector<Direction>& directions, int percent) {
  std::vector<RailRole> late;
  std::vector<double> middles;
  for (const Direction& direction : directions) {
    const double limit = late_limit(direction.grid, percent);
    append(late, direction.rails_where([&](const Path& path) -> std::optional<bool> {
      if (!path.micros) return std::nullopt;
      return *path.micros > limit;
    }));
    middles.push_back(median(latencies_of(direction.grid)));
  }
  if (late.empty()) return {};
  return doctor::warning(
      fmt::format("late: {}; the middle of all paths is {:.1f} us from A to B, {:.1f} back",
                  doctor::list_of(describe(late), kMostNames), middles.front(), middles.back()),
      "Small messages, such as those of NCCL's tree algorithms, wait for each other.",
      "Look for retransmissions in the NIC's counters, and for a longer way to one machine.");
}

/// "rail 2: 100 against 200", for what differs between rails of the same number.
template <class Value>
std::vector<std::string> differences(const Outcome& outcome, Value&& value) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < std::min(outcome.a.rails.size(), outcome.b.rails.size()); ++i) {
    const int a = value(outcome.a.rails[i]);
    const int b = value(outcome.b.rails[i]);
    if (a != b && a != 0 && b != 0) found.push_back(fmt::format("rail {}: {} and {}", i, a, b));
  }
  return found;
}

Findings judge_speeds(const Outcome& outcome) {
  const auto found =
      differences(outcome, [](const RailFacts& rail) { return rail.speed_mbps / 1000; });
  if (found.empty()) return {};
  return doctor::warning(
      fmt::format("link rates differ, in Gb/s: {}", doctor::list_of(found, kMostNames)),
      "The faster end waits for the slower one.",
      "Use one instance type; between the same types look at the driver's version.");
}

Findings judge_mtus(const Outcome& outcome) {
  const auto found = differences(outcome, [](const RailFacts& rail) { return rail.mtu; });
  if (found.empty()) return {};
  return doctor::warning(fmt::format("MTUs differ: {}", doctor::list_of(found, kMostNames)),
                         "Large packets of one end may be dropped on the way to the other.",
                         "Set the same MTU on both.");
}

Findings judge_counts(const Outcome& outcome) {
  const std::size_t a = outcome.a.rails.size();
  const std::size_t b = outcome.b.rails.size();
  if (a == b) return {};
  return doctor::warning(
      fmt::format("{} has {}, {} has {}", outcome.a.host, counted(a, "rail"), outcome.b.host,
                  counted(b, "rail")),
      "Bandwidth is that of the smaller number, and some plugins refuse such peers.",
      "Run `fabrail doctor` on the side with fewer: NICs that are not attached, or not passed to "
      "the container.");
}

Findings judge_versions(const Outcome& outcome) {
  if (outcome.a.libfabric == outcome.b.libfabric) return {};
  return doctor::warning(
      fmt::format("libfabric {} and {}", outcome.a.libfabric, outcome.b.libfabric),
      "Releases differ in protocol details; mixed ones are tested by nobody.",
      "Use one image, or one EFA installer, on all machines.");
}

Findings judge_rates(const Outcome& outcome) {
  const double there = median(rates_of(outcome.a_to_b));
  const double back = median(rates_of(outcome.b_to_a));
  const double small = median(latencies_of(outcome.a_to_b));
  if (there == 0 && back == 0) return {};
  return doctor::fine(
      fmt::format("middle of all paths: A to B {:.1f} Gb/s, B to A {:.1f} Gb/s, "
                  "small messages {:.1f} us one way",
                  there, back, small));
}

Findings judge_reach(const std::vector<Direction>& directions) {
  std::size_t arrived = 0;
  std::size_t all = 0;
  for (const Direction& direction : directions) {
    all += direction.grid.paths.size();
    arrived += direction.arrived();
  }
  if (arrived < all || all == 0) return {};
  return doctor::fine(fmt::format("messages arrive on all {} paths, {} each way", all, all / 2));
}

void sort_by_verdict(Findings& findings) {
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.verdict > b.verdict; });
}

}  // namespace

Findings obstacles(const Side& a, const Side& b) {
  Findings findings;
  for (const Side* side : {&a, &b}) {
    if (side->problem.empty()) continue;
    add(findings,
        doctor::broken(fmt::format("{} has no rails: {}", side->host, side->problem),
                       "Nothing can be sent.",
                       "Run `fabrail doctor` there: it names the link that is missing."),
        "pair.rails");
  }
  if (!findings.empty() || a.provider == b.provider) return findings;
  add(findings,
      doctor::broken(
          fmt::format("{} uses {}, {} uses {}", a.host, a.provider, b.host, b.provider),
          "One of them has fallen back: their addresses mean nothing to each other.",
          "Run `fabrail doctor` on the side without EFA, or set FABRAIL_PROVIDER on both."),
      "pair.provider");
  return findings;
}

Findings judge(const Outcome& outcome, int slow_percent) {
  Findings findings = obstacles(outcome.a, outcome.b);
  if (!findings.empty()) return findings;
  const std::vector<Direction> directions = directions_of(outcome);
  add(findings, judge_blocked(outcome, directions), "pair.blocked");
  add(findings, judge_dead_rails(directions), "pair.dead-rail");
  add(findings, judge_lost_paths(directions), "pair.lost-path");
  add(findings, judge_stuck(directions), "pair.large");
  add(findings, judge_counts(outcome), "pair.rail-count");
  add(findings, judge_speeds(outcome), "pair.link-rate");
  add(findings, judge_mtus(outcome), "pair.mtu");
  add(findings, judge_versions(outcome), "pair.libfabric");
  for (Finding& slow : judge_slow(directions, slow_percent)) findings.push_back(std::move(slow));
  add(findings, judge_direction(outcome, slow_percent), "pair.direction");
  add(findings, judge_latency(directions, slow_percent), "pair.latency");
  add(findings, judge_reach(directions), "pair.reach");
  add(findings, judge_rates(outcome), "pair.rates");
  sort_by_verdict(findings);
  return findings;
}

}  // namespace fabrail::cli::pair
