// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/topo/svg.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "src/cli/topo/picture.h"

namespace fabrail::cli::topo {

namespace {

// All lengths in pixels.
constexpr int kMargin = 24;
constexpr int kTop = 92;      // title and legend
constexpr int kColumn = 610;  // a NUMA node
constexpr int kGap = 24;      // between NUMA nodes
constexpr int kHeading = 26;  // of a place
constexpr int kRow = 58;      // a GPU, and a device beside it
constexpr int kGpuWidth = 156;
constexpr int kDeviceLeft = 240;  // from the column's edge
constexpr int kDeviceWidth = 346;
constexpr int kBoxHeight = 46;

struct Point {
  int x = 0;
  int y = 0;
};

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += static_cast<unsigned char>(c) < ' ' ? '?' : c;
    }
  }
  return safe;
}

class Drawing {
 public:
  Drawing(const Scene& scene, std::ostream& out) : scene_(scene), out_(out) {}

  void run() {
    arrange();
    open();
    for (const Column& column : columns_) draw_column(column);
    draw_lines();
    fmt::print(out_, "</svg>\n");
  }

 private:
  struct Column {
    int numa = -1;
    int x = 0;
    int height = 0;
    std::vector<std::pair<const Place*, int>> places;  // and their tops
  };

  static int rows_of(const Place& place) {
    return static_cast<int>(std::max(place.gpus.size(), place.devices.size()));
  }

  // Places every box before the first line is drawn: lines cross columns.
  void arrange() {
    gpu_at_.resize(scene_.gpus.size());
    device_at_.resize(scene_.plan.groups.size());
    for (const Place& place : scene_.places) {
      if (columns_.empty() || columns_.back().numa != place.numa) {
        const int x = kMargin + static_cast<int>(columns_.size()) * (kColumn + kGap);
        columns_.push_back({.numa = place.numa, .x = x, .height = kHeading, .places = {}});
      }
      arrange(columns_.back(), place);
    }
    for (const Column& column : columns_) height_ = std::max(height_, column.height);
  }

  void arrange(Column& column, const Place& place) {
    const int top = kTop + column.height;
    column.places.emplace_back(&place, top);
    column.height += kHeading + rows_of(place) * kRow + 12;
    for (std::size_t i = 0; i < place.gpus.size(); ++i) {
      gpu_at_[place.gpus[i]] = {column.x + 16, row_top(top, i)};
    }
    for (std::size_t i = 0; i < place.devices.size(); ++i) {
      device_at_[place.devices[i]] = {column.x + kDeviceLeft, row_top(top, i)};
    }
  }

  static int row_top(int top, std::size_t row) {
    return top + kHeading + static_cast<int>(row) * kRow;
  }

  void open() {
    const int columns = std::max(static_cast<int>(columns_.size()), 1);
    const int width = 2 * kMargin + columns * (kColumn + kGap) - kGap;
    fmt::print(out_,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
               "viewBox=\"0 0 {0} {1}\" font-family=\"Helvetica,Arial,sans-serif\">\n"
               "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
               width, kTop + height_ + kMargin);
    text({kMargin, 34}, 20, "#111827", headline(scene_), "font-weight=\"bold\"");
    text({kMargin, 56}, 13, "#4b5563", summary(scene_));
    line({kMargin, 74}, {kMargin + 36, 74}, true);
    text({kMargin + 44, 78}, 12, "#4b5563", "GPUDirect RDMA");
    line({kMargin + 160, 74}, {kMargin + 196, 74}, false);
    text({kMargin + 204, 78}, 12, "#4b5563", "through host memory");
  }

  void draw_column(const Column& column) {
    const std::string name = column.numa >= 0 ? fmt::format("NUMA node {}", column.numa)
                                              : "machine (no NUMA node known)";
    box({column.x, kTop}, kColumn, column.height, "#f9fafb", "#d1d5db");
    text({column.x + 12, kTop + 18}, 13, "#111827", name, "font-weight=\"bold\"");
    for (const auto& [place, top] : column.places) draw_place(column, *place, top);
  }

  void draw_place(const Column& column, const Place& place, int top) {
    box({column.x + 8, top}, kColumn - 16, kHeading + rows_of(place) * kRow, "#eef2ff", "#c7d2fe");
    text({column.x + 16, top + 17}, 12, "#3730a3", place.name);
    for (const std::size_t gpu : place.gpus) draw_gpu(scene_.gpus[gpu], gpu_at_[gpu]);
    for (const std::size_t device : place.devices) draw_device(device, device_at_[device]);
  }

  void draw_gpu(const ShownGpu& gpu, Point at) {
    const topology::PciNode& node = scene_.machine.tree.at(gpu.node);
    box(at, kGpuWidth, kBoxHeight, "#166534", "#14532d");
    text({at.x + 10, at.y + 19}, 13, "#ffffff", fmt::format("GPU {} · {}", gpu.index, gpu.model),
         "font-weight=\"bold\"");
    text({at.x + 10, at.y + 36}, 11, "#dcfce7",
         to_text(node.address) + (node.link_gbytes_per_s > 0
                                      ? fmt::format(" · {:.0f} GB/s", node.link_gbytes_per_s)
                                      : std::string()));
  }

  void draw_device(std::size_t device, Point at) {
    const topology::NicGroup& group = scene_.plan.groups[device];
    box(at, kDeviceWidth, kBoxHeight, "#ffffff", "#1d4ed8");
    text({at.x + 8, at.y + 16}, 12, "#1e3a8a",
         fmt::format("device {} · {} Gb/s · {}", device, group.speed_mbps / 1000,
                     links_of(scene_, group)),
         "font-weight=\"bold\"");
    const auto rails = static_cast<int>(group.rails.size());
    const int width = std::min((kDeviceWidth - 8) / rails - 4, 120);
    for (int i = 0; i < rails; ++i) {
      const topology::GroupRail& rail = group.rails[static_cast<std::size_t>(i)];
      const Point place = {at.x + 6 + i * (width + 4), at.y + 22};
      box(place, width, 18, i == 0 ? "#1d4ed8" : "#60a5fa", "none");
      // Six pixels to a character of this size, at the most.
      text({place.x + 4, place.y + 13}, 10, "#ffffff",
           scene_.nics[rail.nic].name.substr(0, static_cast<std::size_t>(std::max(width / 6, 1))));
    }
  }

  void draw_lines() {
    for (std::size_t i = 0; i < scene_.gpus.size(); ++i) {
      const ShownGpu& gpu = scene_.gpus[i];
      if (gpu.device < 0) continue;
      draw_line(gpu_at_[i], device_at_[static_cast<std::size_t>(gpu.device)], gpu.gpudirect);
    }
  }

  // From edge to edge that face each other.
  void draw_line(Point gpu, Point device, bool direct) {
    const bool rightwards = gpu.x < device.x;
    line({gpu.x + (rightwards ? kGpuWidth : 0), gpu.y + kBoxHeight / 2},
         {device.x + (rightwards ? 0 : kDeviceWidth), device.y + kBoxHeight / 2}, direct);
  }

  void box(Point at, int width, int height, const char* fill, const char* stroke) {
    fmt::print(out_,
               "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\" fill=\"{}\" "
               "stroke=\"{}\"/>\n",
               at.x, at.y, width, height, fill, stroke);
  }

  void text(Point at, int size, const char* color, const std::string& words,
            const char* more = "") {
    fmt::print(out_, "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" {}>{}</text>\n", at.x,
               at.y, size, color, more, escaped(words));
  }

  void line(Point from, Point to, bool direct) {
    const int middle = (from.x + to.x) / 2;
    fmt::print(out_,
               "<path d=\"M{} {} C{} {} {} {} {} {}\" fill=\"none\" stroke=\"{}\" "
               "stroke-width=\"{}\"{}/>\n",
               from.x, from.y, middle, from.y, middle, to.y, to.x, to.y,
               direct ? "#16a34a" : "#9ca3af", direct ? 4 : 2,
               direct ? "" : " stroke-dasharray=\"5 4\"");
  }

  const Scene& scene_;
  std::ostream& out_;
  std::vector<Column> columns_;
  std::vector<Point> gpu_at_;
  std::vector<Point> device_at_;
  int height_ = kHeading;
};

}  // namespace

void write_svg(const Scene& scene, std::ostream& out) { Drawing(scene, out).run(); }

}  // namespace fabrail::cli::topo
