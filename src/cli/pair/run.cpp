// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/pair/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "src/base/config.h"
#include "src/cli/common/deadline.h"
#include "src/cli/common/failure.h"
#include "src/cli/common/local_ranks.h"
#include "src/cli/doctor/report.h"
#include "src/cli/pair/partner.h"
#include "src/cli/pair/prober.h"
#include "src/cli/pair/report.h"
#include "src/cli/pair/verdict.h"

namespace fabrail::cli::pair {

namespace {

constexpr int kCannotAnswer = 3;
constexpr int kSides = 2;

/// Everything on this side that libfabric has given, in the order in which it is opened.
struct Equipment {
  fabric::Library library;
  fabric::Discovery discovery;
  std::vector<std::byte> memory;
  std::vector<std::unique_ptr<Rail>> rails;
};

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

RailFacts facts_of(const fabric::Nic& nic) {
  const bool has_link = nic.info->nic != nullptr && nic.info->nic->link_attr != nullptr;
  const int mtu = has_link ? static_cast<int>(nic.info->nic->link_attr->mtu) : 0;
  return {.name = nic.name, .speed_mbps = nic.speed_mbps, .mtu = mtu};
}

Status open_rails(const Config& config, std::size_t large_bytes, Equipment& equipment) {
  auto& nics = equipment.discovery.nics;
  if (nics.empty()) {
    std::string reasons;
    for (const std::string& reason : equipment.discovery.passed_over)
      reasons += (reasons.empty() ? "" : "; ") + reason;
    return make_error(Code::kUnsupported, 0, "%s", reasons.c_str());
  }
  equipment.memory.resize(2 * large_bytes);
  const auto wanted = static_cast<std::size_t>(config.rails);
  const std::size_t count = wanted == 0 ? nics.size() : wanted;  // as the plugin does it
  for (std::size_t i = 0; i < count; ++i) {
    FR_TRY_ASSIGN(auto rail, Rail::open(equipment.library, nics[i % nics.size()],
                                        static_cast<std::uint16_t>(i), equipment.memory));
    equipment.rails.push_back(std::move(rail));
  }
  return {};
}

Status open(const Environment& environment, std::size_t large_bytes, Equipment& equipment) {
  std::vector<std::string> complaints;
  const Config config = parse_config(environment, complaints);
  for (const std::string& complaint : complaints)
    std::fprintf(stderr, "fabrail pair: %s\n", complaint.c_str());
  FR_TRY_ASSIGN(equipment.library, fabric::open_library(config.libfabric));
  FR_TRY_ASSIGN(equipment.discovery,
                fabric::discover(equipment.library, {.provider = config.provider,
                                                     .fi_provider = config.fi_provider,
                                                     .nics = config.nics,
                                                     .device_rdma = config.device_rdma}));
  return open_rails(config, large_bytes, equipment);
}

Card card_of(const Equipment& equipment, const Status& opened) {
  Card card;
  card.side.host = host_name();
  card.side.provider = equipment.discovery.provider;
  const std::uint32_t version = equipment.library.version;
  card.side.libfabric = fmt::format("{}.{}", FI_MAJOR(version), FI_MINOR(version));
  if (!opened.ok()) {
    card.side.problem = std::string(opened.error().text());
    return card;
  }
  const auto& nics = equipment.discovery.nics;
  for (std::size_t i = 0; i < equipment.rails.size(); ++i) {
    card.side.rails.push_back(facts_of(nics[i % nics.size()]));
    card.addresses.push_back(equipment.rails[i]->address());
  }
  return card;
}

/// Two sides on one machine are told apart, though their host is the same.
void name_processes(Outcome& outcome) {
  if (outcome.a.host != outcome.b.host) return;
  outcome.a.host += " (first process)";
  outcome.b.host += " (second process)";
}

/// Everything that needs rails that both sides have. False if operations are left that never end.
bool probe(const Options& options, Partner& partner, Equipment& equipment, const Card& theirs,
           Outcome& outcome) {
  for (const auto& rail : equipment.rails) {
    if (const Status status = rail->connect(theirs.addresses); !status.ok())
      throw Failure(std::string(status.error().text()));
  }
  Prober prober(options, partner, equipment.rails, theirs.side.rails.size());
  Paths paths = prober.run();
  outcome.a_to_b = std::move(partner.is_a() ? paths.outgoing : paths.incoming);
  outcome.b_to_a = std::move(partner.is_a() ? paths.incoming : paths.outgoing);
  return prober.settle();
}

Outcome look(const Options& options, Partner& partner, const Environment& environment) {
  auto equipment = std::make_unique<Equipment>();
  const Status opened = open(environment, options.large_bytes, *equipment);
  const Card mine = card_of(*equipment, opened);
  const Card theirs = decode_card(partner.exchange(encode(mine)));
  Outcome outcome{.a = partner.is_a() ? mine.side : theirs.side,
                  .b = partner.is_a() ? theirs.side : mine.side,
                  .a_to_b = {},
                  .b_to_a = {}};
  name_processes(outcome);
  if (!obstacles(outcome.a, outcome.b).empty()) return outcome;
  if (!probe(options, partner, *equipment, theirs, outcome)) {
    // libfabric's EFA provider waits for ever when an endpoint with such operations is closed: they
    // go with the process.
    for (const auto& rail : equipment->rails) rail->unlink_shared_memory();
    static_cast<void>(equipment.release());
  }
  return outcome;
}

int report(const Outcome& outcome, const Options& options, std::ostream* out) {
  const doctor::Findings findings = judge(outcome, options.slow_percent);
  if (out != nullptr && options.json) write_json(outcome, findings, options, *out);
  if (out != nullptr && !options.json) write_text(outcome, findings, options, *out);
  if (out != nullptr) out->flush();
  return doctor::exit_code(findings);
}

/// One side; `meet` gives the rendezvous, `out` may be null.
template <class Meet>
int run_side(const Options& options, const Environment& environment, std::ostream* out,
             Meet&& meet) {
  try {
    Deadline deadline("fabrail pair", "; start it on the other machine too, or raise --wait",
                      options.wait_s);
    deadline.enter("waiting for the other side");
    Partner partner(meet());
    deadline.leave();
    return report(look(options, partner, environment), options, out);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "fabrail pair: %s\n", failure.what());
    return kCannotAnswer;
  }
}

int run_launched(const Options& options, Place place, const Environment& environment,
                 std::ostream& out) {
  if (place.ranks != kSides) {
    throw Failure(fmt::format("{} has started {} ranks, but pair takes two: one on each machine",
                              place.launcher, place.ranks));
  }
  if (!options.rendezvous.empty()) override_rendezvous(place, options.rendezvous);
  if (place.address.empty()) {
    throw Failure(
        "cannot tell on which host rank 0 runs: set MASTER_ADDR for both ranks or give "
        "--rendezvous HOST:PORT");
  }
  std::ostream* shown = place.rank == 0 ? &out : nullptr;
  return run_side(options, environment, shown, [&] {
    if (place.rank != 0) return Rendezvous::join(place.address, place.port, 1, kSides);
    return Rendezvous::host(Socket::listen(place.address, place.port), kSides);
  });
}

/// The two processes of this machine: the second one's findings are those of the first.
int run_local(const Options& options, const Environment& environment, std::ostream& out) {
  return run_local_ranks(kSides, [&](int rank, Socket listener) {
    std::ostream* shown = rank == 0 ? &out : nullptr;
    const int code = run_side(options, environment, shown, [&] {
      if (rank == 0) return Rendezvous::host(std::move(listener), kSides);
      const std::uint16_t port = listener.local_port();
      listener = Socket();
      return Rendezvous::join("127.0.0.1", port, 1, kSides);
    });
    return rank == 0 || code == kCannotAnswer ? code : 0;
  });
}

Place place_at(const std::string& text) {
  Place place;
  const bool only_port = text.find(':') == std::string::npos;
  override_rendezvous(place, only_port ? "0.0.0.0:" + text : text);
  return place;
}

int run_any(const Options& options, const Environment& environment, std::ostream& out) {
  if (!options.listen.empty()) {
    const Place place = place_at(options.listen);
    return run_side(options, environment, &out, [&] {
      return Rendezvous::host(Socket::listen(place.address, place.port), kSides);
    });
  }
  if (!options.peer.empty()) {
    const Place place = place_at(options.peer);
    return run_side(options, environment, &out,
                    [&] { return Rendezvous::join(place.address, place.port, 1, kSides); });
  }
  const auto place = place_of(environment);
  return place ? run_launched(options, *place, environment, out)
               : run_local(options, environment, out);
}

}  // namespace

int run_pair(const Options& options, const Environment& environment, std::ostream& out) {
  // Between processes of one machine EFA's provider would copy through shared memory: this is about
  // NICs.
  setenv("FI_EFA_ENABLE_SHM_TRANSFER", "0", 0);
  try {
    return run_any(options, environment, out);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "fabrail pair: %s\n", failure.what());
    return kCannotAnswer;
  }
}

}  // namespace fabrail::cli::pair
