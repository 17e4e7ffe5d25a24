// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/topo/picture.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace fabrail::cli::topo {

using topology::NicGroup;
using topology::PciNode;

namespace {

std::string gbps(std::int64_t mbps) { return fmt::format("{} Gb/s", mbps / 1000); }

// Without the domain where that is 0, as people say it.
std::string short_address(const topology::PciAddress& address) {
  const std::string text = to_text(address);
  return address.domain == 0 ? text.substr(5) : text;
}

class Picture {
 public:
  Picture(const Scene& scene, bool color, std::ostream& out)
      : scene_(scene), tree_(scene.machine.tree), color_(color), out_(out) {}

  void run() {
    fmt::print(out_, "{}\n{}\n", headline(scene_), summary(scene_));
    for (auto place = scene_.places.begin(); place != scene_.places.end();) {
      const auto end = std::find_if(place, scene_.places.end(),
                                    [&](const Place& other) { return other.numa != place->numa; });
      draw_numa_node(place, end);
      place = end;
    }
    draw_notes();
  }

 private:
  using PlaceIterator = std::vector<Place>::const_iterator;

  void draw_numa_node(PlaceIterator begin, PlaceIterator end) {
    const std::string name = begin->numa >= 0 ? fmt::format("NUMA node {}", begin->numa)
                                              : "machine (no NUMA node known)";
    fmt::print(out_, "\n{}\n", name);
    for (auto place = begin; place != end; ++place) draw_place(*place, place + 1 == end);
  }

  // A place of a single thing is not worth a line of its own.
  void draw_place(const Place& place, bool last) {
    const std::vector<std::string> lines = lines_of(place);
    const char* branch = last ? "└─ " : "├─ ";
    if (lines.size() == 1) {
      fmt::print(out_, "{}{}\n", branch, lines[0]);
      return;
    }
    fmt::print(out_, "{}{}\n", branch, place.name);
    for (const std::string& line : lines) {
      const char* inner = &line == &lines.back() ? "└─ " : "├─ ";
      fmt::print(out_, "{}{}{}\n", last ? "   " : "│  ", inner, line);
    }
  }

  // Each device behind its GPUs.
  std::vector<std::string> lines_of(const Place& place) const {
    std::vector<std::string> lines;
    std::set<std::size_t> drawn;
    const auto draw = [&](std::size_t device) {
      if (drawn.insert(device).second) lines.push_back(device_line(device));
    };
    for (const std::size_t gpu : place.gpus) {
      lines.push_back(gpu_line(scene_.gpus[gpu]));
      const bool last_of_device = std::ranges::none_of(place.gpus, [&](std::size_t other) {
        return other > gpu && scene_.gpus[other].device == scene_.gpus[gpu].device;
      });
      for (const std::size_t device : place.devices) {
        if (last_of_device && std::cmp_equal(device, scene_.gpus[gpu].device)) draw(device);
      }
    }
    for (const std::size_t device : place.devices) draw(device);
    return lines;
  }

  std::string gpu_line(const ShownGpu& gpu) const {
    const PciNode& node = tree_.at(gpu.node);
    std::string line =
        fmt::format("GPU {:<2} {}  {:<5} {:>10}  ", gpu.index, short_address(node.address),
                    gpu.model, link_text(node.link_gbytes_per_s));
    if (gpu.device < 0) return line + "→ no device";
    const std::string device = fmt::format("→ device {}", gpu.device);
    return line + paint(device, gpu.device) + ", " + describe(gpu.path) + ", " +
           (gpu.gpudirect ? "GPUDirect" : "no GPUDirect");
  }

  std::string device_line(std::size_t device) const {
    const NicGroup& group = scene_.plan.groups[device];
    std::string line = paint(fmt::format("device {:<2}", device), static_cast<int>(device)) +
                       fmt::format(" {:>8}  ", gbps(group.speed_mbps));
    for (const topology::GroupRail& rail : group.rails) {
      line += scene_.nics[rail.nic].name + (&rail == &group.rails.back() ? "" : " ");
    }
    const std::string links = links_of(scene_, group);
    return links.empty() ? line : line + "  (" + links + ")";
  }

  std::string paint(const std::string& text, int device) const {
    static constexpr std::array kColors = {36, 33, 35, 32, 34, 31};
    if (!color_) return text;
    const int color = kColors[static_cast<std::size_t>(device) % kColors.size()];
    return fmt::format("\033[1;{}m{}\033[0m", color, text);
  }

  void draw_notes() {
    fmt::print(out_, "\nwhy\n");
    for (const std::string& decision : scene_.plan.decisions) fmt::print(out_, "  {}\n", decision);
    fmt::print(out_, "  NCCL topology file: {}, {}\n", scene_.xml.text.empty() ? "none" : "yes",
               scene_.xml.reason);
    if (scene_.environment.empty()) return;
    fmt::print(out_, "\nenvironment for this type, where you set none\n");
    for (const topology::Recommendation& row : scene_.environment) {
      fmt::print(out_, "  {}={}\n      {}\n", row.name, row.value, row.reason);
    }
  }

  const Scene& scene_;
  const topology::PciTree& tree_;
  bool color_;
  std::ostream& out_;
};

}  // namespace

std::string headline(const Scene& scene) {
  const std::string name =
      scene.plan.instance_name.empty() ? "unknown machine" : scene.plan.instance_name;
  const std::string gpus =
      scene.gpus.empty() ? "no GPU"
                         : fmt::format("{} × {}", scene.gpus.size(), scene.gpus.front().model);
  std::int64_t total = 0;
  for (const NicGroup& group : scene.plan.groups) total += group.speed_mbps;
  return fmt::format("{}: {}, {} {}, {} in all", name, gpus, scene.nics.size(),
                     scene.nics.size() == 1 ? "NIC" : "NICs", gbps(total));
}

std::string summary(const Scene& scene) {
  if (scene.plan.groups.empty()) return "no NCCL device";
  std::set<std::int64_t> speeds;
  for (const NicGroup& group : scene.plan.groups) speeds.insert(group.speed_mbps);
  const char* every = scene.plan.groups.size() > 1 ? " each" : "";
  const std::string each =
      speeds.size() == 1 ? gbps(*speeds.begin()) + every
                         : fmt::format("{} to {}", gbps(*speeds.begin()), gbps(*speeds.rbegin()));
  const auto direct = std::ranges::count_if(scene.gpus, &ShownGpu::gpudirect);
  return fmt::format("{} NCCL {}, {}; GPUDirect RDMA for {} of {} {}", scene.plan.groups.size(),
                     scene.plan.groups.size() == 1 ? "device" : "devices", each, direct,
                     scene.gpus.size(), scene.gpus.size() == 1 ? "GPU" : "GPUs");
}

void draw_picture(const Scene& scene, bool color, std::ostream& out) {
  Picture(scene, color, out).run();
}

}  // namespace fabrail::cli::topo
