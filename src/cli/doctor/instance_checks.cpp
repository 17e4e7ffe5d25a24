// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Checks on what this instance is and which NICs it should have.
#include <fmt/format.h>

#include <array>

#include "src/cli/doctor/checks.h"
#include "src/cli/doctor/emulation.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

/// Whether `name` looks like an EC2 instance type ("m5.large").
bool looks_like_instance_type(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot < 2 || name[0] < 'a' || name[0] > 'z') return false;
  const std::string_view size = name.substr(dot + 1);
  return size.ends_with("large") || size.starts_with("metal") || size == "medium" ||
         size == "small" || size == "micro" || size == "nano";
}

Findings check_type(const Survey& survey) {
  if (survey.is_image()) {
    return note(
        "no /sys in this root: it is an image, so hardware, driver and limits are not checked");
  }
  const std::string& product = survey.hardware.product;
  if (survey.type != nullptr) {
    return fine(fmt::format("{}: {} and {} of {} Gb/s", product,
                            counted(static_cast<std::size_t>(survey.type->gpus), "GPU"),
                            counted(static_cast<std::size_t>(survey.type->nics), "EFA NIC"),
                            survey.type->nic_mbps / 1000));
  }
  if (!survey.hardware.efa_functions().empty()) {
    return note(fmt::format("'{}' has EFA but is not in the table of types", product),
                "How many NICs it should have and whether they reach GPU memory is not known.");
  }
  if (survey.hardware.ec2 || looks_like_instance_type(product)) {
    return note(fmt::format("{} has no EFA", product.empty() ? "this instance type" : product),
                "Collectives go over sockets here. That is expected: there is nothing to fix.");
  }
  return note(fmt::format("not an EC2 instance ({})", product.empty() ? "no DMI name" : product));
}

Findings check_emulation(const Survey& survey) {
  if (!has_emulated_nics(survey.system)) return {};
  return note("the NICs of this environment are emulated (fabrail-sim)",
              "Driver, device files and locked memory are not looked at.");
}

Findings check_gpudirect(const Survey& survey) {
  if (survey.type == nullptr) return {};
  if (survey.type_has_gpudirect()) return fine("NICs can reach GPU memory on this type");
  if (survey.type->gpus == 0) return {};
  return note(
      fmt::format("{} has no GPUDirect RDMA", survey.type->name),
      "Its NICs cannot reach GPU memory, whatever is installed: data is copied through host "
      "memory. There is nothing to fix.");
}

constexpr const char* kFewerNics =
    "Bandwidth shrinks with the number of NICs, and no program reports an error.";

Findings check_count(const Survey& survey) {
  if (survey.type == nullptr) return {};
  const std::size_t have = survey.hardware.efa_functions().size();
  // Cards that share a port need not all be used: one for each GPU gives the full bandwidth.
  const bool shared_ports = survey.type->layout == topology::Layout::kUseOnlyNearNics;
  const auto want = static_cast<std::size_t>(shared_ports ? survey.type->gpus : survey.type->nics);
  const std::string fact =
      fmt::format("{} of {} EFA NICs are attached to this {}", have, want, survey.type->name);
  if (have >= want) return fine(fact);
  if (have == 0) {
    return broken(fact, "Without EFA all traffic between instances goes over TCP sockets.",
                  "Launch the instance with network interfaces of type efa (or efa-only), one for "
                  "each network card.");
  }
  return warning(fact, kFewerNics,
                 "Attach an EFA interface to every network card in the launch template. After a "
                 "fresh boot p5en may list some late: look again after a minute.");
}

Findings check_security_group(const Survey& survey) {
  if (!survey.expects_efa() || survey.is_image()) return {};
  return note("security group and subnet cannot be seen from one machine",
              "EFA needs rules in and out for all traffic that name the security group itself "
              "(0.0.0.0/0 does not count), and both machines in one subnet. Plain TCP works "
              "without them.",
              "Run `fabrail pair` between two machines.");
}

/// Whether a saved rule set drops what no rule of it allows: ":INPUT DROP [0:0]".
bool drops_by_default(const std::string& rules) {
  return contains(rules, ":INPUT DROP") || contains(rules, ":OUTPUT DROP");
}

Findings check_firewall(const Survey& survey) {
  for (const char* path : {"/etc/iptables/rules.v4", "/etc/sysconfig/iptables"}) {
    if (!drops_by_default(survey.system.read(path).value_or(""))) continue;
    return note(fmt::format("{} drops packets that no rule allows", path),
                "EFA's own traffic passes by a host firewall; NCCL's bootstrap over TCP does not, "
                "and a job then hangs before the first collective.",
                "Allow TCP between the machines of the job on all ports.");
  }
  return {};
}

constexpr std::array kChecks = {
    Check{"instance.type", "What machine is this?", check_type,
          "Reads the DMI product name (/sys/devices/virtual/dmi/id/product_name), which is the "
          "instance type on EC2, without asking the metadata service. The table of types gives the "
          "number of GPUs and EFA NICs and whether GPUDirect RDMA is possible. A root folder "
          "without /sys is taken as an image."},
    Check{"instance.emulation", "Are the NICs software?", check_emulation,
          "Looks for FABRAIL_SIM_DIR, which fabrail-sim sets: emulated NICs have no kernel driver. "
          "They are seen in /sys only with fabrail-sim's --mount."},
    Check{"instance.gpudirect", "Can NICs reach GPU memory on this type?", check_gpudirect,
          "Looks the instance type up. g4dn, g5, g6, g6e, p3dn, p5.4xlarge and g7e.8xlarge have "
          "EFA but no GPUDirect RDMA: low bandwidth there is no misconfiguration."},
    Check{"efa.count", "Are all EFA NICs attached?", check_count,
          "Counts PCI functions with vendor 1d0f and device efa0 to efaf under "
          "/sys/bus/pci/devices and compares with the instance type. libfabric's list is not "
          "counted: it has several entries for each NIC."},
    Check{"network.security-group", "Do security group and subnet allow EFA?", check_security_group,
          "Nothing on a single machine shows it. EFA traffic is allowed only by rules for all "
          "protocols, inbound and outbound, whose source or target is the security group itself, "
          "and only inside one subnet. This is the most repeated cause of hangs at start."},
    Check{"network.firewall", "Does a host firewall block NCCL's bootstrap?", check_firewall,
          "Reads saved iptables rules (/etc/iptables/rules.v4, /etc/sysconfig/iptables) for chains "
          "that drop by default. Rules that are loaded but not saved, and Kubernetes network "
          "policies, are not seen."},
};

}  // namespace

std::span<const Check> instance_checks() { return kChecks; }

}  // namespace fabrail::doctor
