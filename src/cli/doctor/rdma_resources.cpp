// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/rdma_resources.h"

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace fabrail::doctor {

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

/// Calls `visit` with the type and payload of each piece that starts with a header of its length
/// (and no less): netlink's messages and attributes both are built that way.
template <class Header, class Visit>
void for_each(std::string_view bytes, Visit&& visit) {
  while (bytes.size() >= sizeof(Header)) {
    Header header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    std::size_t length = 0;
    unsigned type = 0;
    if constexpr (std::is_same_v<Header, nlmsghdr>) {
      length = header.nlmsg_len;
      type = header.nlmsg_type;
    } else {
      length = header.nla_len;
      type = header.nla_type & NLA_TYPE_MASK;
    }
    if (length < sizeof header || length > bytes.size()) return;
    visit(type, bytes.substr(sizeof header, length - sizeof header));
    const std::size_t aligned = (length + 3) & ~std::size_t{3};
    bytes.remove_prefix(std::min(aligned, bytes.size()));
  }
}

std::string_view text_of(std::string_view payload) { return payload.substr(0, payload.find('\0')); }

void read_entry(std::string_view entry, DeviceResources& resources) {
  std::string_view name;
  std::uint64_t count = 0;
  for_each<nlattr>(entry, [&](unsigned type, std::string_view payload) {
    if (type == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME) name = text_of(payload);
    if (type == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR && payload.size() == sizeof count)
      std::memcpy(&count, payload.data(), sizeof count);
  });
  if (name == "qp") resources.queue_pairs = count;
  if (name == "mr") resources.regions = count;
}

DeviceResources read_device(std::string_view message) {
  DeviceResources resources;
  for_each<nlattr>(message, [&](unsigned type, std::string_view payload) {
    if (type == RDMA_NLDEV_ATTR_DEV_NAME) resources.device = std::string(text_of(payload));
    if (type != RDMA_NLDEV_ATTR_RES_SUMMARY) return;
    for_each<nlattr>(payload,
                     [&](unsigned, std::string_view entry) { read_entry(entry, resources); });
  });
  return resources;
}

bool is_last(std::string_view answers) {
  bool last = false;
  for_each<nlmsghdr>(answers, [&](unsigned type, std::string_view) {
    last = last || type == NLMSG_DONE || type == NLMSG_ERROR;
  });
  return last;
}

bool send_request(int socket) {
  nlmsghdr request{};
  request.nlmsg_len = sizeof request;
  request.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_GET);
  request.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  return ::send(socket, &request, sizeof request, 0) == static_cast<ssize_t>(sizeof request);
}

}  // namespace

std::string ask_rdma_resources() {
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
  if (socket < 0) return {};
  // The kernel answers at once or not at all.
  const timeval limit{.tv_sec = 1, .tv_usec = 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::string answers;
  bool more = send_request(socket);
  while (more && answers.size() < kMostBytes) {
    std::array<char, 32768> piece{};
    const ssize_t got = ::recv(socket, piece.data(), piece.size(), 0);
    if (got <= 0) break;
    answers.append(piece.data(), static_cast<std::size_t>(got));
    more = !is_last(std::string_view(piece.data(), static_cast<std::size_t>(got)));
  }
  ::close(socket);
  return answers;
}

std::vector<DeviceResources> read_rdma_resources(std::string_view answers) {
  std::vector<DeviceResources> all;
  for_each<nlmsghdr>(answers, [&](unsigned type, std::string_view message) {
    if (type < NLMSG_MIN_TYPE) return;
    DeviceResources one = read_device(message);
    if (!one.device.empty()) all.push_back(std::move(one));
  });
  return all;
}

}  // namespace fabrail::doctor
