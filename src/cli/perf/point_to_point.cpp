// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The tests between two ranks.
#include "src/cli/perf/point_to_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "src/cli/common/failure.h"
#include "src/cli/perf/patterns.h"
#include "src/cli/perf/plugin_link.h"
#include "src/cli/perf/raw_pair.h"

namespace fabrail::cli::perf {
namespace {

// Room for the acknowledgement of a stream of empty messages.
constexpr size_t kLeastCapacity = 4096;

size_t capacity_for(const std::vector<Plan>& plans) {
  size_t capacity = kLeastCapacity;
  for (const Plan& plan : plans) {
    capacity = std::max<size_t>(capacity, plan.depth * stride_of(plan.bytes));
  }
  return capacity;
}

/// The ends are rank 0, which holds the clock, and the last rank.
std::optional<int> peer_of(int rank, int ranks) {
  if (rank == 0) return ranks - 1;
  if (rank == ranks - 1) return 0;
  return std::nullopt;
}

/// Rounds in which the plugin and raw libfabric take turns, so that what else the machine does
/// meets both alike. A round is long against its start, when the window of messages fills.
uint64_t rounds_of(const Plan& plan, bool with_raw) {
  if (!with_raw) return 1;
  const uint64_t least = plan.test == TestKind::kLatency ? 20 : uint64_t{16} * plan.depth;
  return std::clamp<uint64_t>(plan.iterations / least, 1, 10);
}

/// One size of one test on this rank. Every pass is a barrier and then both sides of a pattern;
/// ranks that are no end of the link only take part in the barriers.
class SizeRun {
 public:
  SizeRun(Session& session, const Plan& plan, PluginLink* link, RawPair* raw)
      : session_(session),
        plan_(plan),
        link_(link),
        raw_(raw),
        rounds_(rounds_of(plan, raw != nullptr)) {}

  void run() {
    if (plan_.warmup > 0) warm_up();
    for (uint64_t round = 0; round < rounds_; ++round) {
      const uint64_t before = plan_.iterations * round / rounds_;
      const uint64_t count = plan_.iterations * (round + 1) / rounds_ - before;
      timed_round(count);
      if (raw_ != nullptr) raw_timing_ += raw_pass(count, "raw timed loop");
    }
    if (plan_.checked > 0) plugin_pass(plan_.checked, true, "check");
  }

  Measurement plugin_measurement() const {
    Measurement measurement = measurement_of(timing_);
    measurement.cost = cost_;
    if (link_ == nullptr) return measurement;
    measurement.wrong = link_->wrong();
    // The receiver of a stream sends no more than an acknowledgement in each round.
    const bool sends = plan_.test == TestKind::kLatency || session_.rank() == 0;
    measurement.messages = sends ? plan_.iterations : rounds_;
    return measurement;
  }

  Measurement raw_measurement() const { return measurement_of(raw_timing_); }

 private:
  void warm_up() {
    plugin_pass(plan_.warmup, false, "warm-up");
    if (raw_ != nullptr) raw_pass(plan_.warmup, "raw warm-up");
  }

  void timed_round(uint64_t count) {
    const Cost before = session_.cost_page.read();
    timing_ += plugin_pass(count, false, "timed loop");
    cost_ += session_.cost_page.read() - before;
  }

  Timing plugin_pass(uint64_t count, bool checked, const char* part) {
    session_.enter(plan_, part);
    if (link_ != nullptr) link_->begin(plan_, checked, session_.options.corrupt);
    session_.rendezvous.barrier();
    return run_side(link_, count);
  }

  Timing raw_pass(uint64_t count, const char* part) {
    session_.enter(plan_, part);
    RawLink* const link = raw_->link();
    if (link != nullptr) link->begin(plan_);
    session_.rendezvous.barrier();
    return run_side(link, count);
  }

  /// Rank 0 holds the clock.
  template <class Link>
  Timing run_side(Link* link, uint64_t count) {
    if (link == nullptr) return {};
    Patterns<Link> patterns(*link, session_.poller, plan_);
    const bool first = session_.rank() == 0;
    if (plan_.test == TestKind::kLatency)
      return first ? patterns.ping(count) : patterns.pong(count);
    return first ? patterns.stream_out(count) : patterns.stream_in(count);
  }

  static Measurement measurement_of(const Timing& timing) {
    Measurement measurement;
    measurement.elapsed_ns = timing.elapsed_ns;
    measurement.p50_us = percentile_us(timing.samples_ns, 50);
    measurement.p99_us = percentile_us(timing.samples_ns, 99);
    return measurement;
  }

  Session& session_;
  const Plan& plan_;
  PluginLink* link_;
  RawPair* raw_;
  uint64_t rounds_;
  Timing timing_;
  Timing raw_timing_;
  Cost cost_;
};

/// The row of all ranks. Collective.
Row collect(Session& session, const Plan& plan, const Measurement& mine) {
  const Measurement total = combine(session.rendezvous.all_gather_of(mine));
  session.total_wrong += total.wrong;
  return make_row(plan, session.ranks(), total);
}

void run_size(Session& session, const Plan& plan, PluginLink* link, RawPair* raw) {
  SizeRun size_run(session, plan, link, raw);
  size_run.run();
  const Row row = collect(session, plan, size_run.plugin_measurement());
  std::optional<Row> beside;
  if (raw != nullptr) {
    Plan unchecked = plan;
    unchecked.checked = 0;  // nobody compares what bare libfabric writes
    beside = collect(session, unchecked, size_run.raw_measurement());
  }
  if (session.is_root()) session.report->add(row, beside);
}

void check_sizes(const Session& session, const std::vector<Plan>& plans) {
  const uint64_t limit = session.device.max_message_bytes;
  if (plans.back().bytes <= limit) return;
  throw Failure(
      fmt::format("{} of {} is more than the {} that device {} takes in one message "
                  "(ABI v{}); use a smaller -e",
                  name_of(plans.back().test), format_size(plans.back().bytes), format_size(limit),
                  session.device.name, session.plugin.abi()));
}

std::string description(const Session& session, TestKind test) {
  const int last = session.ranks() - 1;
  const char* const memory = session.options.gpu_memory ? ", GPU memory" : "";
  if (test == TestKind::kLatency) {
    return fmt::format("half round trip between ranks 0 and {}{}", last, memory);
  }
  return fmt::format("rank 0 to rank {}, {} outstanding{}", last, session.options.depth, memory);
}

std::optional<PluginLink> open_link(Session& session, std::optional<int> peer, size_t capacity,
                                    const GpuMemory* gpu) {
  const int last = session.ranks() - 1;
  Connections connections = connect(session.plugin, session.rendezvous, session.poller,
                                    session.options.device, {{0, last}, {last, 0}});
  if (!peer) return std::nullopt;
  const size_t out = session.rank() == 0 ? 0 : 1;
  return std::optional<PluginLink>(std::in_place, session.plugin, std::move(connections.sends[out]),
                                   std::move(connections.recvs[1 - out]),
                                   Ends{.mine = session.rank(), .peer = *peer}, capacity, gpu);
}

/// Ranks of one machine take its GPUs in turn.
std::unique_ptr<GpuMemory> open_gpu(const Session& session) {
  if (!session.options.gpu_memory) return nullptr;
  if (!session.device.takes_gpu_memory) {
    throw Failure("--memory device: device " + session.device.name +
                  " takes host memory only; -v shows why");
  }
  return std::make_unique<GpuMemory>(session.rank());
}

std::unique_ptr<RawPair> open_raw(Session& session, std::optional<int> peer, size_t capacity) {
  if (!session.options.raw) return nullptr;
  session.deadline.enter("opening raw libfabric endpoints");
  auto raw = std::make_unique<RawPair>(session, peer, capacity);
  if (session.is_root()) session.report->set_raw_provider(raw->provider());
  return raw;
}

}  // namespace

void run_point_to_point(Session& session, TestKind test) {
  const std::vector<Plan> plans = plans_of(test, session.options);
  check_sizes(session, plans);
  const size_t capacity = capacity_for(plans);
  const std::optional<int> peer = peer_of(session.rank(), session.ranks());
  session.deadline.enter(fmt::format("connecting ranks 0 and {}", session.ranks() - 1));
  const std::unique_ptr<GpuMemory> gpu = open_gpu(session);
  std::optional<PluginLink> link = open_link(session, peer, capacity, gpu.get());
  const std::unique_ptr<RawPair> raw = open_raw(session, peer, capacity);
  if (session.is_root()) session.report->begin_test(test, description(session, test));
  for (const Plan& plan : plans) run_size(session, plan, link ? &*link : nullptr, raw.get());
  session.deadline.enter("closing the connection between ranks 0 and the last");
  if (link) link->close();
  session.rendezvous.barrier();
}

}  // namespace fabrail::cli::perf
