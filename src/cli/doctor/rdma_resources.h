// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// How many queue pairs and memory regions are in use on each NIC, from the kernel's RDMA netlink.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fabrail::doctor {

/// What all processes together use on one verbs device.
struct DeviceResources {
  std::string device;
  std::uint64_t queue_pairs = 0;
  std::uint64_t regions = 0;
};

/// The kernel's answers, as they came; empty where it does not answer.
///
/// Source  rdma-resource(8), linux/rdma/rdma_netlink.h: RDMA_NLDEV_CMD_RES_GET.
std::string ask_rdma_resources();

/// Reads such answers; stops at the first that is damaged.
std::vector<DeviceResources> read_rdma_resources(std::string_view answers);

}  // namespace fabrail::doctor
