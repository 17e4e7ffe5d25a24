// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Reads the variables that torchrun, mpirun and srun set for each rank.
#include "src/cli/common/launch.h"

#include <charconv>
#include <string_view>

#include "src/cli/common/failure.h"

namespace fabrail::cli {
namespace {

constexpr uint16_t kDefaultPort = 29400;

std::string text_of(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? std::string() : std::string(value);
}

int parse_number(const std::string& text, const std::string& name, int low, int high) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || value < low || value > high) {
    throw Failure(name + "='" + text + "' is not a number from " + std::to_string(low) + " to " +
                  std::to_string(high) + ": start the ranks with their launcher, or use --ranks");
  }
  return value;
}

/// The variables of one launcher, by what they say.
struct Launcher {
  const char* name;
  const char* rank;
  const char* ranks;
};

// Inner launchers first: mpirun inside a Slurm job sees Slurm's variables too, of its own daemon.
constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"mpirun", "PMI_RANK", "PMI_SIZE"},
    {"mpirun", "PMIX_RANK", "PMIX_SIZE"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS"},
};

std::optional<Place> rank_of(const Environment& environment) {
  for (const Launcher& launcher : kLaunchers) {
    const std::string rank = text_of(environment, launcher.rank);
    const std::string ranks = text_of(environment, launcher.ranks);
    if (rank.empty() || ranks.empty()) continue;
    Place place;
    place.launcher = launcher.name;
    place.ranks = parse_number(ranks, launcher.ranks, 1, 1 << 20);
    place.rank = parse_number(rank, launcher.rank, 0, place.ranks - 1);
    return place;
  }
  return std::nullopt;
}

bool is_one_host(const Environment& environment, const Place& place) {
  const std::string local = text_of(environment, "OMPI_COMM_WORLD_LOCAL_SIZE");
  if (place.launcher == "mpirun") {
    return local == std::to_string(place.ranks) ||
           text_of(environment, "MPI_LOCALNRANKS") == std::to_string(place.ranks);
  }
  return text_of(environment, "SLURM_STEP_NUM_NODES") == "1" ||
         (text_of(environment, "SLURM_STEP_NUM_NODES").empty() &&
          text_of(environment, "SLURM_NNODES") == "1");
}

std::string slurm_address(const Environment& environment) {
  // Rank 0 runs on the step's first node; the launch node may be a login node without ranks.
  for (const char* list : {"SLURM_STEP_NODELIST", "SLURM_NODELIST"}) {
    std::string host = first_host(text_of(environment, list));
    if (!host.empty()) return host;
  }
  return text_of(environment, "SLURM_LAUNCH_NODE_IPADDR");
}

std::string address_of(const Environment& environment, const Place& place) {
  std::string master = text_of(environment, "MASTER_ADDR");
  if (!master.empty()) return master;
  if (place.ranks == 1 || is_one_host(environment, place)) return "127.0.0.1";
  return place.launcher == "srun" ? slurm_address(environment) : std::string();
}

/// A port below the ephemeral range that all ranks of one job derive alike (FNV-1a).
uint16_t port_from_job(std::string_view job) {
  uint32_t hash = 2166136261u;
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return static_cast<uint16_t>(20000 + hash % 10000);
}

uint16_t port_of(const Environment& environment) {
  const std::string master = text_of(environment, "MASTER_PORT");
  if (!master.empty()) {
    const int port = parse_number(master, "MASTER_PORT", 1, 65534);
    // torchrun's agent keeps its own store listening on MASTER_PORT and says so.
    const bool taken = text_of(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True";
    return static_cast<uint16_t>(taken ? port + 1 : port);
  }
  const std::string job =
      text_of(environment, "PMIX_NAMESPACE") + text_of(environment, "OMPI_MCA_ess_base_jobid") +
      text_of(environment, "SLURM_JOB_ID") + "." + text_of(environment, "SLURM_STEP_ID");
  return job == "." ? kDefaultPort : port_from_job(job);
}

}  // namespace

std::string first_host(const std::string& node_list) {
  const size_t bracket = node_list.find('[');
  const size_t comma = node_list.find(',');
  if (bracket == std::string::npos || comma < bracket) return node_list.substr(0, comma);
  const size_t number_end = node_list.find_first_of("-,]", bracket);
  const size_t close = node_list.find(']', bracket);
  if (number_end == std::string::npos || close == std::string::npos) return {};
  const std::string number = node_list.substr(bracket + 1, number_end - bracket - 1);
  const std::string after = node_list.substr(close + 1, node_list.find(',', close) - close - 1);
  return node_list.substr(0, bracket) + number + after;
}

std::optional<Place> place_of(const Environment& environment) {
  std::optional<Place> place = rank_of(environment);
  if (!place) return std::nullopt;
  place->address = address_of(environment, *place);
  place->port = port_of(environment);
  return place;
}

void override_rendezvous(Place& place, const std::string& host_and_port) {
  const size_t colon = host_and_port.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    throw Failure("--rendezvous '" + host_and_port + "' is not HOST:PORT");
  }
  place.address = host_and_port.substr(0, colon);
  if (place.address.front() == '[' && place.address.back() == ']') {
    place.address = place.address.substr(1, place.address.size() - 2);
  }
  place.port = static_cast<uint16_t>(
      parse_number(host_and_port.substr(colon + 1), "port of --rendezvous", 1, 65535));
}

}  // namespace fabrail::cli
