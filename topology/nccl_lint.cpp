// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/nccl_lint.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "topology/nccl_xml.h"
#include "topology/xml_reader.h"

namespace fabrail::topology {

namespace {

constexpr std::size_t kOldMaxChildren = 32;    // until 2.20
constexpr std::size_t kNcclMaxChildren = 128;  // from 2.21; 640 in the newest
constexpr std::size_t kNcclMaxElements = 256;  // from 2.21
constexpr std::uint32_t kInventedDomain = 0xffff;

constexpr std::array<std::string_view, 12> kKnownTags = {
    "system", "cpu", "pci", "gpu", "nic", "net", "nvlink", "pcilink", "c2c", "coll", "gin", "rma"};

double number(const std::string* text) { return text ? std::strtod(text->c_str(), nullptr) : 0; }

class Linter {
 public:
  Linter(std::string_view text, const VisibleDevices& devices)
      : document_(read_nccl_xml(text)), devices_(devices), facts_(document_.elements.size()) {
    for (const XmlElement& element : document_.elements) note_above(element);
  }

  std::vector<Finding> run() {
    if (check_root()) check_elements();
    if (document_.stop) {
      add(Severity::kError, document_.stop->line, "NCCL stops here: " + document_.stop->text);
    }
    return std::move(findings_);
  }

 private:
  // What an element has beneath it.
  struct Facts {
    bool gpu_child = false;
    bool nic_child = false;
    bool net_within = false;
  };

  void note_above(const XmlElement& element) {
    if (element.parent < 0) return;
    Facts& parent = facts_[static_cast<std::size_t>(element.parent)];
    parent.gpu_child |= element.name == "gpu";
    parent.nic_child |= element.name == "nic";
    if (element.name != "net") return;
    // Up to the first that knows: each element is marked once.
    for (int above = element.parent; above >= 0;) {
      Facts& marked = facts_[static_cast<std::size_t>(above)];
      if (marked.net_within) break;
      marked.net_within = true;
      above = document_.elements[static_cast<std::size_t>(above)].parent;
    }
  }

  [[nodiscard]] const Facts& facts(const XmlElement& element) const {
    return facts_[static_cast<std::size_t>(&element - document_.elements.data())];
  }

  void check_elements() {
    for (const XmlElement& element : document_.elements) check(element);
    if (document_.elements.size() > kNcclMaxElements) {
      add(Severity::kError, 0,
          std::to_string(document_.elements.size()) + " elements; NCCL from 2.21 takes " +
              std::to_string(kNcclMaxElements));
    }
    check_hashes();
  }

  void add(Severity severity, int line, std::string text) {
    findings_.push_back({severity, line, std::move(text)});
  }

  bool check_root() {
    const auto system = std::ranges::find(document_.elements, "system", &XmlElement::name);
    if (system == document_.elements.end()) {
      if (!document_.stop)
        add(Severity::kError, 0, "no <system> element: not a topology of NCCL's");
      return false;
    }
    const std::string* version = system->find("version");
    if (version == nullptr || *version != "1") {
      add(Severity::kError, system->line, "<system> needs version=\"1\"");
    }
    return true;
  }

  void check(const XmlElement& element) {
    check_limits(element);
    if (element.name == "cpu") return check_cpu(element);
    if (element.name == "pci") return check_pci(element);
    if (element.name == "net") return check_net(element);
    if (std::find(kKnownTags.begin(), kKnownTags.end(), element.name) == kKnownTags.end()) {
      add(Severity::kNote, element.line, "NCCL passes over <" + element.name + ">");
    }
  }

  void check_limits(const XmlElement& element) {
    if (element.attributes.size() > kNcclMaxAttributes) {
      add(Severity::kWarning, element.line,
          "NCCL reads only the first " + std::to_string(kNcclMaxAttributes) + " attributes");
    }
    if (element.children <= kOldMaxChildren) return;
    const bool always = element.children > kNcclMaxChildren;
    add(always ? Severity::kError : Severity::kNote, element.line,
        std::to_string(element.children) + " elements within one; NCCL takes " +
            std::to_string(always ? kNcclMaxChildren : kOldMaxChildren) +
            (always ? " (640 in the newest versions)" : " until 2.20"));
  }

  // NCCL fills in what a CPU lacks when it comes to it from a device that it adds itself; by a
  // <net> that it already finds in the file it does not come there.
  void check_cpu(const XmlElement& cpu) {
    if (cpu.find("numaid") == nullptr) add(Severity::kError, cpu.line, "<cpu> needs numaid");
    if (cpu.find("arch") != nullptr) return;
    if (facts(cpu).net_within) {
      add(Severity::kError, cpu.line,
          "<cpu> without arch over a <net>: where none of its GPUs is visible, NCCL fails with "
          "\"Attribute arch of node cpu not found\"");
    }
  }

  void check_pci(const XmlElement& pci) {
    const std::string* busid = pci.find("busid");
    if (busid == nullptr) return add(Severity::kError, pci.line, "<pci> needs busid");
    const auto address = parse_pci_address(*busid);
    if (!address) return add(Severity::kError, pci.line, *busid + " is no PCI address");
    if (to_text(*address) != *busid) {
      add(Severity::kWarning, pci.line,
          *busid + " should be written " + to_text(*address) +
              ": NCCL compares the text and would add the device a second time");
    }
    check_link(pci, *address);
    check_visible(pci, *address);
  }

  void check_visible(const XmlElement& pci, const PciAddress& address) {
    const std::string* pci_class = pci.find("class");
    const bool gpu = facts(pci).gpu_child || (pci_class && pci_class->starts_with("0x03"));
    const bool nic = facts(pci).nic_child || (pci_class && pci_class->starts_with("0x02"));
    if (gpu && std::ranges::find(devices_.gpus, address) == devices_.gpus.end()) {
      add(Severity::kWarning, pci.line, "GPU " + to_text(address) + " is not visible here");
    } else if (nic && net_at(address) == nullptr) {
      add(Severity::kWarning, pci.line,
          "NIC " + to_text(address) + " is not a device (or not the leader of one) here");
    } else if (pci_class == nullptr && address.domain == kInventedDomain) {
      add(Severity::kError, pci.line, to_text(address) + " exists nowhere and has no class");
    }
  }

  [[nodiscard]] const VisibleDevices::Net* net_at(const PciAddress& address) const {
    const auto net = std::ranges::find(devices_.nets, address, &VisibleDevices::Net::pci);
    return net == devices_.nets.end() ? nullptr : &*net;
  }

  // NCCL's bandwidth of a device is the least along the path, this link included.
  void check_link(const XmlElement& pci, const PciAddress& address) {
    const VisibleDevices::Net* net = net_at(address);
    if (net == nullptr || !pci.find("link_speed") || !pci.find("link_width")) return;
    constexpr double kGbytesPerTransferAndLane = 0.75 / 8;
    const double width = number(pci.find("link_width"));
    const double link =
        number(pci.find("link_speed")) * (width > 0 ? width : 16) * kGbytesPerTransferAndLane;
    const double needed = static_cast<double>(net->speed_mbps) / 8000;
    if (link <= 0 || link >= std::min(needed, net->gpu_gbytes_per_s) * kLinkTolerance) return;
    add(Severity::kWarning, pci.line,
        "the link of " + net->name + " holds it to " +
            std::to_string(static_cast<std::int64_t>(link * 16 + 1) / 2) + " of its " +
            std::to_string(net->speed_mbps / 1000) + " Gb/s");
  }

  void check_net(const XmlElement& net) {
    const std::string* name = net.find("name");
    if (name == nullptr) return;
    if (net.find("dev") == nullptr) {
      add(Severity::kNote, net.line, "<net> without dev: NCCL passes over it");
    } else if (std::ranges::find(devices_.nets, *name, &VisibleDevices::Net::name) ==
               devices_.nets.end()) {
      add(Severity::kWarning, net.line, "no device here is called " + *name);
    }
  }

  void check_hashes() {
    const auto without = std::ranges::find_if(document_.elements, [](const XmlElement& element) {
      return element.name == "cpu" && element.find("host_hash") == nullptr;
    });
    if (without != document_.elements.end()) {
      add(Severity::kNote, without->line,
          "<cpu> without host_hash: NCCL 2.21 to 2.26 take it for another host than CPUs that the "
          "file does not name");
    }
  }

  XmlDocument document_;
  const VisibleDevices& devices_;
  std::vector<Facts> facts_;  // of each element
  std::vector<Finding> findings_;
};

}  // namespace

VisibleDevices visible_devices(const Machine& machine, std::span<const Nic> nics,
                               const Plan& plan) {
  VisibleDevices devices;
  for (const int gpu : gpus_of(machine.tree)) devices.gpus.push_back(machine.tree.at(gpu).address);
  for (const NicGroup& group : plan.groups) {
    const auto& pci = nics[group.leader()].pci;
    if (pci)
      devices.nets.push_back(
          {group.name, *pci, group.speed_mbps, nccl_gpu_link_gbytes_per_s(machine.tree, group)});
  }
  return devices;
}

std::vector<Finding> lint_nccl_xml(std::string_view text, const VisibleDevices& devices) {
  return Linter(text, devices).run();
}

}  // namespace fabrail::topology
