// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/affinity.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace fabrail::topology {

namespace {

// NICs of one level, one network and one kind: rails of one device should be equals.
struct Level {
  int node = 0;
  int network = 0;
  std::uint32_t kind = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the defaulted comparison for a literal 0
  friend auto operator<=>(const Level&, const Level&) = default;
};
using Levels = std::map<Level, std::vector<NicPlace>>;

Level level_of(const PciTree& tree, int node, const NicPlace& nic) {
  const PciNode& device = tree.at(nic.node);
  const std::uint32_t kind = static_cast<std::uint32_t>(device.vendor) << 16 | device.device;
  return {node, nic.network, kind};
}

// Cards and functions are numbered alike on all nodes of a type, buses need not be.
void put_in_rail_order(const PciTree& tree, std::vector<NicPlace>& nics) {
  std::set<std::uint64_t> guids;
  for (const NicPlace& nic : nics) guids.insert(nic.node_guid);
  const bool by_guid = guids.size() == nics.size() && !guids.contains(0);
  // EFA's node_guid: 32 bits of the instance's own, then domain, bus and function of the card.
  std::ranges::sort(nics, {}, [&](const NicPlace& nic) {
    return std::tuple(by_guid ? nic.node_guid & 0xffffffff : 0, tree.at(nic.node).address, nic.nic);
  });
}

std::size_t ceil_div(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

// Deals `items` to `count` consecutive parts; the first ones get what does not divide.
template <typename T>
std::vector<std::vector<T>> deal(const std::vector<T>& items, std::size_t count) {
  std::vector<std::vector<T>> parts;
  auto next = items.begin();
  for (std::size_t i = 0; i < count; ++i) {
    const auto size =
        static_cast<std::ptrdiff_t>(items.size() / count + (i < items.size() % count));
    parts.emplace_back(next, next + size);
    next += size;
  }
  return parts;
}

class Grouping {
 public:
  Grouping(const PciTree& tree, std::span<const NicPlace> nics, const AffinityRules& rules)
      : tree_(tree), nics_(nics), rules_(rules), has_nic_(static_cast<std::size_t>(tree.size())) {}

  Affinity run() {
    mark_nics();
    place_gpus();
    const std::vector<NicPlace> orphans = group_near_gpus();
    const bool drop = rules_.leave_orphans_out && !result_.clusters.empty();
    if (drop) {
      result_.left_out = orphans;
    } else {
      group_orphans(orphans);
    }
    std::ranges::sort(result_.clusters, {}, [&](const Cluster& cluster) {
      const NicPlace& leader = cluster.nics.front();
      return std::tuple(tree_.at(leader.node).address, leader.nic);
    });
    give_far_gpus();
    return std::move(result_);
  }

 private:
  void mark_nics() {
    for (const NicPlace& nic : nics_) {
      for (int node = nic.node; node >= 0; node = tree_.at(node).parent) {
        has_nic_[static_cast<std::size_t>(node)] = 1;
      }
    }
  }

  void place_gpus() {
    for (const int gpu : gpus_of(tree_)) {
      int node = gpu;
      while (node >= 0 && !has_nic_[static_cast<std::size_t>(node)]) node = tree_.at(node).parent;
      if (node >= 0) gpus_at_[node].push_back(gpu);
    }
  }

  // Returns the NICs above which no GPU asks for a group.
  std::vector<NicPlace> group_near_gpus() {
    Levels levels;
    std::vector<NicPlace> orphans;
    for (const NicPlace& nic : nics_) {
      int node = nic.node;
      while (node >= 0 && !gpus_at_.contains(node)) node = tree_.at(node).parent;
      if (node < 0) {
        orphans.push_back(nic);
      } else {
        levels[level_of(tree_, node, nic)].push_back(nic);
      }
    }
    for (auto& [level, nics] : levels) {
      split(std::move(nics), gpus_at_.at(level.node).size(), gpus_at_.at(level.node));
      served_.insert(level.node);
    }
    return orphans;
  }

  void split(std::vector<NicPlace> nics, std::size_t wanted, const std::vector<int>& gpus) {
    put_in_rail_order(tree_, nics);
    std::size_t count = std::clamp<std::size_t>(wanted, 1, nics.size());
    if (rules_.max_rails > 0) count = std::max(count, ceil_div(nics.size(), rules_.max_rails));
    const std::size_t first = result_.clusters.size();
    for (auto& part : deal(nics, count)) result_.clusters.push_back({std::move(part), {}});
    for (std::size_t i = 0; i < std::max(count, gpus.size()) && !gpus.empty(); ++i) {
      const std::size_t cluster = count >= gpus.size() ? i : i * count / gpus.size();
      const std::size_t gpu = count >= gpus.size() ? i * gpus.size() / count : i;
      result_.clusters[first + cluster].gpus.push_back(gpus[gpu]);
    }
  }

  // Groups of the size that the others have, so that a node with fewer GPUs in sight shows the same
  // devices as its peers.
  void group_orphans(const std::vector<NicPlace>& orphans) {
    std::size_t rails = 0;
    for (const Cluster& cluster : result_.clusters) rails = std::max(rails, cluster.nics.size());
    if (rails == 0) rails = std::max<std::size_t>(rules_.orphan_rails, 1);
    Levels levels;
    for (const NicPlace& nic : orphans) {
      levels[level_of(tree_, switch_of(nic.node, orphans), nic)].push_back(nic);
    }
    for (auto& [level, nics] : levels) {
      const std::size_t wanted = ceil_div(nics.size(), rails);
      split(std::move(nics), wanted, {});
    }
  }

  // The first bridge above `node` that leads to another of `nics`; the root bus, if none does.
  int switch_of(int node, const std::vector<NicPlace>& nics) const {
    const int root_bus = tree_.enclosing(node, NodeKind::kHostBridge);
    int nearest = root_bus >= 0 ? root_bus : node;
    for (const NicPlace& other : nics) {
      if (other.node == node || tree_.path(other.node, node) != Path::kSwitch) continue;
      const int shared = tree_.common_ancestor(other.node, node);
      if (tree_.at(shared).depth > tree_.at(nearest).depth) nearest = shared;
    }
    return nearest;
  }

  // GPUs at whose level all NICs went to groups nearer to other GPUs: to the nearest group, and
  // among equals to the one with the fewest GPUs.
  void give_far_gpus() {
    for (const auto& [level, gpus] : gpus_at_) {
      if (served_.contains(level)) continue;
      for (const int gpu : gpus) {
        const auto nearest =
            std::ranges::min_element(result_.clusters, {}, [&](const Cluster& cluster) {
              const int leader = cluster.nics.front().node;
              return std::tuple(tree_.path(gpu, leader), tree_.distance(gpu, leader),
                                cluster.gpus.size());
            });
        if (nearest != result_.clusters.end()) nearest->gpus.push_back(gpu);
      }
    }
  }

  const PciTree& tree_;
  std::span<const NicPlace> nics_;
  const AffinityRules& rules_;
  std::vector<char> has_nic_;
  std::map<int, std::vector<int>> gpus_at_;  // by the level at which they ask
  std::set<int> served_;                     // levels of gpus_at_ that have groups
  Affinity result_;
};

}  // namespace

Affinity group_nics(const PciTree& tree, std::span<const NicPlace> nics,
                    const AffinityRules& rules) {
  return Grouping(tree, nics, rules).run();
}

}  // namespace fabrail::topology
