// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The tests over all ranks: the same measuring for each collective.
#include "src/cli/perf/collectives.h"

#include <fmt/format.h>

#include <numeric>

#include "src/cli/perf/all_reduce.h"
#include "src/cli/perf/all_to_all.h"
#include "src/cli/perf/patterns.h"

namespace fabrail::cli::perf {
namespace {

/// Back to back, each iteration timed on its own.
template <class Collective>
Measurement timed_loop(Collective& collective, Session& session, const Plan& plan) {
  std::vector<uint64_t> samples;
  samples.reserve(plan.iterations);
  const Cost before = session.cost_page.read();
  uint64_t start = now_ns();
  for (uint64_t i = 0; i < plan.iterations; ++i) {
    collective.run(session.poller);
    const uint64_t end = now_ns();
    samples.push_back(end - start);
    start = end;
  }
  Measurement mine;
  mine.cost = session.cost_page.read() - before;
  mine.elapsed_ns = std::accumulate(samples.begin(), samples.end(), uint64_t{0});
  mine.messages = collective.messages() * plan.iterations;
  mine.p50_us = percentile_us(samples, 50);
  mine.p99_us = percentile_us(samples, 99);
  return mine;
}

/// New values for each iteration, every element compared.
template <class Collective>
uint64_t checked_loop(Collective& collective, Session& session, const Plan& plan) {
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < plan.checked; ++i) {
    collective.fill(i);
    collective.run(session.poller);
    if (session.options.corrupt && i == 0) collective.corrupt();
    wrong += collective.count_wrong(i);
  }
  return wrong;
}

template <class Collective>
Measurement measure(Collective& collective, Session& session, const Plan& plan) {
  session.enter(plan, "warm-up");
  collective.begin(plan);
  collective.fill(0);
  for (uint64_t i = 0; i < plan.warmup; ++i) collective.run(session.poller);
  session.rendezvous.barrier();
  session.enter(plan, "timed loop");
  Measurement mine = timed_loop(collective, session, plan);
  session.rendezvous.barrier();
  session.enter(plan, "check");
  mine.wrong = checked_loop(collective, session, plan);
  return mine;
}

template <class Collective>
void run(Session& session, TestKind test) {
  const std::vector<Plan> plans = plans_of(test, session.options);
  session.deadline.enter(fmt::format("connecting {} ranks for {}", session.ranks(), name_of(test)));
  Connections connections = connect(session.plugin, session.rendezvous, session.poller,
                                    session.options.device, Collective::edges(session.ranks()));
  Collective collective(session.plugin, std::move(connections), session.rank(), session.ranks(),
                        plans);
  if (session.is_root()) {
    session.report->begin_test(test, fmt::format("{} ranks, {} outstanding to each neighbour",
                                                 session.ranks(), session.options.depth));
  }
  for (const Plan& plan : plans) {
    const Measurement mine = measure(collective, session, plan);
    const Measurement total = combine(session.rendezvous.all_gather_of(mine));
    session.total_wrong += total.wrong;
    if (session.is_root()) {
      session.report->add(make_row(plan, session.ranks(), total), std::nullopt);
    }
  }
  session.deadline.enter(fmt::format("closing the connections of {}", name_of(test)));
  collective.close();
  session.rendezvous.barrier();
}

}  // namespace

void run_collective(Session& session, TestKind test) {
  if (test == TestKind::kAllReduce) {
    run<AllReduce>(session, test);
  } else {
    run<AllToAll>(session, test);
  }
}

}  // namespace fabrail::cli::perf
