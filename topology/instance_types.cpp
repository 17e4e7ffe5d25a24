// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/instance_types.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace fabrail::topology {

namespace {

constexpr auto kNo = GpuDirect::kNo;
constexpr auto kYes = GpuDirect::kYes;
constexpr auto kSeen = Layout::kAsSeen;
constexpr std::uint8_t kLarge = kAdviceLargeMessages;
constexpr std::uint8_t kHopper = kAdviceLargeMessages | kAdviceNvls;
constexpr std::uint8_t kPaired = kHopper | kAdviceOneNicPerGpu;

constexpr const char* kOwnKindOnly = "EFA traffic only with instances of this type";
constexpr const char* kInferred = "the EFA generation and the PCI layout are inferred";
constexpr const char* kSharedPorts =
    "network cards (1,2), (3,4) ... share a 400 Gb/s port; one GPU can use 400 Gb/s of EFA";

// clang-format off
constexpr std::array kTypes = {
  //            name                 GPU         GPUs NICs   Mb/s gen  read   write  GPUDirect us
  InstanceType{"p3dn.24xlarge",     "V100",         8,  1, 100000, 1, false, false, kNo,  150, kSeen, 0, ""},
  InstanceType{"p4d.24xlarge",      "A100",         8,  4, 100000, 1, true,  false, kYes,  75, Layout::kHiddenSwitches, kLarge, kOwnKindOnly},
  InstanceType{"p4de.24xlarge",     "A100-80G",     8,  4, 100000, 1, true,  false, kYes,  75, Layout::kHiddenSwitches, kLarge, kOwnKindOnly},
  InstanceType{"p5.4xlarge",        "H100",         1,  1, 100000, 2, true,  true,  kNo,   75, kSeen, 0, kInferred},
  InstanceType{"p5.48xlarge",       "H100",         8, 32, 100000, 2, true,  true,  kYes,  75, kSeen, kHopper, ""},
  InstanceType{"p5e.48xlarge",      "H200",         8, 32, 100000, 2, true,  true,  kYes,  75, kSeen, kHopper, ""},
  InstanceType{"p5en.48xlarge",     "H200",         8, 16, 200000, 3, true,  true,  kYes,  35, kSeen, kPaired, ""},
  InstanceType{"p6-b200.48xlarge",  "B200",         8,  8, 400000, 4, true,  true,  kYes,  35, kSeen, kPaired, "two more verbs devices (ibp...) are no EFA and carry no data"},
  InstanceType{"p6-b300.48xlarge",  "B300",         8, 16, 400000, 4, true,  true,  kYes,  35, kSeen, kHopper, kInferred},
  InstanceType{"p6e-gb200.36xlarge","GB200",        4, 16, 400000, 0, true,  true,  kYes,  35, Layout::kUseOnlyNearNics, kHopper, kSharedPorts},
  InstanceType{"g4dn.8xlarge",      "T4",           1,  1,  50000, 1, false, false, kNo,   75, kSeen, 0, ""},
  InstanceType{"g4dn.12xlarge",     "T4",           4,  1,  50000, 1, false, false, kNo,   75, kSeen, 0, ""},
  InstanceType{"g4dn.16xlarge",     "T4",           1,  1,  50000, 1, false, false, kNo,   75, kSeen, 0, ""},
  InstanceType{"g4dn.metal",        "T4",           8,  1, 100000, 1, false, false, kNo,   75, kSeen, 0, ""},
  InstanceType{"g5.8xlarge",        "A10G",         1,  1,  25000, 1, false, false, kNo,   75, kSeen, kAdviceShmCopies, ""},
  InstanceType{"g5.12xlarge",       "A10G",         4,  1,  40000, 1, false, false, kNo,   75, kSeen, kAdviceShmCopies, ""},
  InstanceType{"g5.16xlarge",       "A10G",         1,  1,  25000, 1, false, false, kNo,   75, kSeen, kAdviceShmCopies, ""},
  InstanceType{"g5.24xlarge",       "A10G",         4,  1,  50000, 1, false, false, kNo,   75, kSeen, kAdviceShmCopies, ""},
  InstanceType{"g5.48xlarge",       "A10G",         8,  1, 100000, 1, false, false, kNo,   75, Layout::kHiddenSockets, kAdviceShmCopies, ""},
  InstanceType{"g6.8xlarge",        "L4",           1,  1,  25000, 2, true,  true,  kNo,   75, kSeen, kAdviceShmCopies, ""},
  InstanceType{"g6.12xlarge",       "L4",           4,  1,  40000, 2, true,  true,  kNo,   75, kSeen, kAdviceShmCopies, ""},
  InstanceType{"g6.16xlarge",       "L4",           1,  1,  25000, 2, true,  true,  kNo,   75, kSeen, kAdviceShmCopies, ""},
  InstanceType{"g6.24xlarge",       "L4",           4,  1,  50000, 2, true,  true,  kNo,   75, kSeen, kAdviceShmCopies, ""},
  InstanceType{"g6.48xlarge",       "L4",           8,  1, 100000, 2, true,  true,  kNo,   75, kSeen, kAdviceShmCopies, ""},
  InstanceType{"gr6.8xlarge",       "L4",           1,  1,  25000, 2, true,  true,  kNo,   75, kSeen, kAdviceShmCopies, ""},
  InstanceType{"g6e.8xlarge",       "L40S",         1,  1,  25000, 2, true,  true,  kNo,   75, kSeen, 0, kInferred},
  InstanceType{"g6e.12xlarge",      "L40S",         4,  1, 100000, 2, true,  true,  kNo,   75, kSeen, 0, kInferred},
  InstanceType{"g6e.16xlarge",      "L40S",         1,  1,  35000, 2, true,  true,  kNo,   75, kSeen, 0, kInferred},
  InstanceType{"g6e.24xlarge",      "L40S",         4,  2, 100000, 2, true,  true,  kNo,   75, kSeen, 0, kInferred},
  InstanceType{"g6e.48xlarge",      "L40S",         8,  4, 100000, 2, true,  true,  kNo,   75, kSeen, 0, kInferred},
  InstanceType{"g7e.8xlarge",       "RTX PRO 6000", 1,  1, 100000, 4, true,  true,  kNo,   35, kSeen, kLarge, kInferred},
  InstanceType{"g7e.12xlarge",      "RTX PRO 6000", 2,  1, 400000, 4, true,  true,  kYes,  35, kSeen, kLarge, kInferred},
  InstanceType{"g7e.24xlarge",      "RTX PRO 6000", 4,  2, 400000, 4, true,  true,  kYes,  35, kSeen, kLarge, kInferred},
  InstanceType{"g7e.48xlarge",      "RTX PRO 6000", 8,  4, 400000, 4, true,  true,  kYes,  35, kSeen, kLarge, kInferred},
  InstanceType{"trn1.32xlarge",     "",             0,  8, 100000, 2, true,  true,  kNo,   75, kSeen, 0, "Neuron devices: NCCL does not serve them"},
  InstanceType{"trn1n.32xlarge",    "",             0, 16, 100000, 2, true,  true,  kNo,   75, kSeen, 0, "Neuron devices: NCCL does not serve them"},
  InstanceType{"trn2.48xlarge",     "",             0, 16, 200000, 3, true,  true,  kNo,   75, kSeen, 0, "Neuron devices: NCCL does not serve them"},
};
// clang-format on

std::string trimmed(std::string_view text) {
  // A bounded copy: DMI strings are firmware's, and end up in log lines.
  constexpr std::size_t kLongest = 64;
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  std::string kept(text.substr(0, kLongest));
  std::ranges::replace_if(
      kept, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return kept;
}

}  // namespace

std::span<const InstanceType> instance_types() { return kTypes; }

const InstanceType* find_instance_type(std::string_view name) {
  const auto type = std::ranges::find(
      kTypes, name, [](const InstanceType& row) { return std::string_view(row.name); });
  return type == kTypes.end() ? nullptr : &*type;
}

std::int64_t usual_efa_mbps(int generation) {
  constexpr std::array<std::int64_t, 5> kMbps = {0, 100000, 100000, 200000, 400000};
  if (generation <= 0) return 0;
  return kMbps[std::min(static_cast<std::size_t>(generation), kMbps.size() - 1)];
}

DetectedInstance detect_instance(const Dmi& dmi, std::string_view forced) {
  if (const std::string name = trimmed(forced); !name.empty()) {
    return {name, "FABRAIL_INSTANCE says so"};
  }
  const std::string vendor = trimmed(dmi.sys_vendor);
  const std::string product = trimmed(dmi.product_name);
  if (vendor != "Amazon EC2") {
    return {"", vendor.empty() ? "DMI names no vendor"
                               : "DMI's vendor is " + vendor + ", not Amazon EC2"};
  }
  if (product.empty()) return {"", "DMI names no product"};
  return {product, "DMI's product name"};
}

}  // namespace fabrail::topology
