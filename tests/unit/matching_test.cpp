// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Sender and receiver match eager messages to receives each by itself; whatever the network does
// with the order, they must agree, and no receive may get two messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <random>
#include <vector>

#include "src/transport/cts_window.h"
#include "src/transport/eager_order.h"

namespace fabrail::transport {
namespace {

struct Posted {
  std::uint32_t sequence;
  std::uint32_t group;
  std::int32_t tag;
  bool eager = false;
  int message = -1;
};

/// A receiver reduced to its matching, as receiver.cpp does it.
class Receiver {
 public:
  std::vector<ClearToSend> post(const std::vector<std::int32_t>& tags) {
    std::vector<ClearToSend> announcements;
    const std::uint32_t group = next_;
    for (std::size_t i = 0; i < tags.size(); ++i) {
      posted_.push_back({.sequence = next_, .group = group, .tag = tags[i]});
      announcements.push_back({.group_size = static_cast<std::uint8_t>(tags.size()),
                               .group_index = static_cast<std::uint8_t>(i),
                               .comm = 0,
                               .sequence = next_++,
                               .tag = tags[i],
                               .region = 0,
                               .length = 64,
                               .offset = 0});
    }
    for (Posted& receive : posted_) {
      if (receive.group != group) continue;
      if (const auto held = order_.take_waiting(group, receive.tag))
        fill_eager(receive, held->storage);
    }
    return announcements;
  }

  void arrive(const Eager& header, int message) {
    const HeldEager held{.header = header, .bytes = 0, .storage = message};
    if (!order_.is_next(header.eager_sequence)) {
      ASSERT_TRUE(order_.keep(held));
      return;
    }
    order_.step();
    match(held);
    while (const auto next = order_.take_next()) {
      order_.step();
      match(*next);
    }
  }

  void write(std::uint32_t slot, int message) {
    for (Posted& receive : posted_) {
      if (receive.sequence % kWindow != slot || receive.message >= 0) continue;
      receive.message = message;
      return;
    }
    FAIL() << "a write to a receive that is not there, or has its message";
  }

  const std::vector<Posted>& posted() const { return posted_; }

 private:
  void match(const HeldEager& held) {
    for (Posted& receive : posted_) {
      const bool eligible = static_cast<std::int32_t>(receive.group - held.header.head) >= 0;
      if (eligible && receive.tag == held.header.tag && !receive.eager)
        return fill_eager(receive, held.storage);
    }
    ASSERT_TRUE(order_.wait(held));
  }
  void fill_eager(Posted& receive, int message) {
    ASSERT_EQ(receive.message, -1) << "two messages for receive " << receive.sequence;
    receive.eager = true;
    receive.message = message;
  }

  EagerOrder order_;
  std::vector<Posted> posted_;
  std::uint32_t next_ = 0;
};

/// What must come out: messages in order, each to the first free receive with its tag of the head
/// group.
std::vector<int> expected(const std::vector<std::vector<std::int32_t>>& groups,
                          const std::vector<std::int32_t>& sent) {
  std::vector<int> result;
  std::deque<int> unmatched;
  for (std::size_t i = 0; i < sent.size(); ++i) unmatched.push_back(static_cast<int>(i));
  for (const auto& group : groups) {
    std::vector<int> filled(group.size(), -1);
    for (std::size_t slot = 0; slot < group.size(); ++slot) {
      for (auto it = unmatched.begin(); it != unmatched.end(); ++it) {
        if (sent[static_cast<std::size_t>(*it)] != group[slot]) continue;
        filled[slot] = *it;
        unmatched.erase(it);
        break;
      }
    }
    result.insert(result.end(), filled.begin(), filled.end());
  }
  return result;
}

class RandomTraffic : public testing::TestWithParam<unsigned> {
 protected:
  struct Flying {
    std::function<void()> deliver;
  };

  void fly(std::deque<Flying>& network, std::function<void()> deliver) {
    network.push_back({std::move(deliver)});
  }

  void deliver_one(std::deque<Flying>& network) {
    if (network.empty()) return;
    const std::size_t reach = std::min<std::size_t>(network.size(), 1 + random() % 12);
    const auto at = network.begin() + static_cast<std::ptrdiff_t>(random() % reach);
    const auto deliver = at->deliver;
    network.erase(at);
    deliver();
  }

  std::uint32_t random() { return static_cast<std::uint32_t>(random_()); }

  std::mt19937 random_{GetParam()};
};

TEST_P(RandomTraffic, BothSidesAgree) {
  // Every group's tags are known in advance, so that the sender can send what is needed in an order
  // that the contract allows: within a group in any order.
  std::vector<std::vector<std::int32_t>> groups;
  std::vector<std::int32_t> to_send;
  for (int i = 0; i < 300; ++i) {
    std::vector<std::int32_t> tags(random() % 3 == 0 ? 1 + random() % kMaxGroup : 1);
    for (auto& tag : tags) tag = static_cast<std::int32_t>(random() % 3);
    groups.push_back(tags);
    std::shuffle(tags.begin(), tags.end(), random_);
    to_send.insert(to_send.end(), tags.begin(), tags.end());
  }
  Receiver receiver;
  CtsWindow window;
  std::deque<Flying> to_sender;
  std::deque<Flying> to_receiver;
  std::size_t posted = 0;
  std::size_t sent = 0;
  std::uint32_t eager_sequence = 0;
  while (sent < to_send.size() || posted < groups.size() || !to_sender.empty() ||
         !to_receiver.empty()) {
    const bool room = receiver.posted().size() < sent + kWindow / 2;
    switch (random() % 4) {
      case 0:
        if (posted == groups.size() || !room) break;
        for (const ClearToSend& message : receiver.post(groups[posted])) {
          fly(to_sender,
              [&window, message] { ASSERT_EQ(window.insert(message), CtsWindow::Insert::kTaken); });
        }
        ++posted;
        break;
      case 1: {
        if (sent == to_send.size()) break;
        const std::int32_t tag = to_send[sent];
        const int message = static_cast<int>(sent);
        if (const auto* receive = window.match(tag)) {
          const std::uint32_t slot = window.slot_of(*receive);
          window.consume(*receive);
          fly(to_receiver, [&receiver, slot, message] { receiver.write(slot, message); });
          ++sent;
        } else if (window.may_send_eager()) {
          const Eager header{
              .comm = 0, .eager_sequence = eager_sequence++, .head = window.head(), .tag = tag};
          window.note_eager(tag, 8);
          fly(to_receiver, [&receiver, header, message] { receiver.arrive(header, message); });
          ++sent;
        }
        break;
      }
      case 2:
        deliver_one(to_sender);
        break;
      default:
        deliver_one(to_receiver);
    }
    if (HasFatalFailure()) return;
  }
  std::vector<int> got;
  for (const Posted& receive : receiver.posted()) got.push_back(receive.message);
  EXPECT_EQ(got, expected(groups, to_send));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTraffic, testing::Range(0u, 200u));

}  // namespace
}  // namespace fabrail::transport
