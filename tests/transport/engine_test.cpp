// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Engines whose sides differ, and what a listener does with requests that are not meant for it.
#include <algorithm>
#include <array>
#include <random>

#include "tests/transport/two_engines.h"

namespace fabrail::transport {
namespace {

struct Sides {
  std::size_t sender;
  std::size_t receiver;
};

class Transfers : public TwoEngines {
 protected:
  void transfer(Engine& sender, Engine& receiver, const Connection& c, std::size_t bytes) {
    std::vector<std::byte> from(bytes);
    std::vector<std::byte> to(bytes + 1, std::byte{0xee});
    std::mt19937 random(static_cast<unsigned>(bytes));
    for (std::byte& byte : from) byte = static_cast<std::byte>(random());
    Registration* source = sender.register_memory(*c.send, from.data(), bytes).value();
    Registration* target = receiver.register_memory(*c.recv, to.data(), bytes).value();
    const ReceiveArgs args{.data = to.data(),
                           .capacity = static_cast<std::uint32_t>(bytes),
                           .tag = 1,
                           .registration = target};
    Request* receiving = receiver.receive(*c.recv, {&args, 1}).value();
    ASSERT_NE(receiving, nullptr);
    Request* sending = nullptr;
    until([&] {
      if (sending == nullptr) sending = sender.send(*c.send, from.data(), bytes, 1, source).value();
      if (sending == nullptr) {
        EXPECT_FALSE(receiver.test(*receiving, {}).value()) << "nothing was sent yet";
      }
      return sending != nullptr;
    });
    bool sent = false;
    bool received = false;
    std::array<std::uint32_t, kMaxGroup> sizes{};
    until([&] {
      if (!sent) sent = sender.test(*sending, {}).value();
      if (!received) received = receiver.test(*receiving, sizes).value();
      return sent && received;
    });
    EXPECT_EQ(sizes[0], bytes);
    EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin())) << bytes << " bytes";
    EXPECT_EQ(to.back(), std::byte{0xee});
    sender.deregister_memory(*source);
    receiver.deregister_memory(*target);
  }
};

class DifferentRails : public Transfers, public testing::WithParamInterface<Sides> {};

TEST_P(DifferentRails, UseTheSmallerNumber) {
  const auto sender = open(GetParam().sender);
  const auto receiver = open(GetParam().receiver);
  const Connection connection = connect(*sender, *receiver);
  ASSERT_FALSE(HasFailure());
  const std::size_t rails = std::min(GetParam().sender, GetParam().receiver);
  EXPECT_EQ(connection.send->rails, rails);
  EXPECT_EQ(connection.recv->rails, rails);
  for (const std::size_t bytes : {1u, 8u, 8192u, 8193u, 100000u, 1u << 20}) {
    const std::uint64_t before = counters_.stripes;
    transfer(*sender, *receiver, connection, bytes);
    if (bytes == 1u << 20) {
      EXPECT_EQ(counters_.stripes - before, rails) << "one stripe on each rail";
    }
  }
  sender->close(*connection.send);
  receiver->close(*connection.recv);
}

INSTANTIATE_TEST_SUITE_P(Rails, DifferentRails,
                         testing::Values(Sides{1, 4}, Sides{4, 1}, Sides{3, 2}, Sides{4, 4}),
                         [](const auto& sides) {
                           return std::to_string(sides.param.sender) + "To" +
                                  std::to_string(sides.param.receiver);
                         });

// One thread, one device, both sides: the receive is not tested before the message has left.
TEST_F(Transfers, LeaveThoughNobodyTestsTheReceive) {
  settings_.eager_bytes = 0;
  const auto engine = open(1);
  const Connection c = connect(*engine, *engine);
  std::array<std::byte, 64> memory{};
  Registration* source = engine->register_memory(*c.send, memory.data(), 8).value();
  Registration* target = engine->register_memory(*c.recv, &memory[32], 8).value();
  const ReceiveArgs args{.data = &memory[32], .capacity = 8, .tag = 1, .registration = target};
  Request* receiving = engine->receive(*c.recv, {&args, 1}).value();
  ASSERT_NE(receiving, nullptr);
  Request* sending = nullptr;
  until([&] {
    sending = engine->send(*c.send, memory.data(), 8, 1, source).value();
    return sending != nullptr;
  });
  ASSERT_NE(sending, nullptr);
  until([&] { return engine->test(*sending, {}).value(); });
  until([&] { return engine->test(*receiving, {}).value(); });
  engine->deregister_memory(*source);
  engine->deregister_memory(*target);
  engine->close(*c.send);
  engine->close(*c.recv);
}

// The two sides are set up differently: what they do is agreed on, not configured alike.
TEST_F(Transfers, AreFetchedWhereTheSenderCannotWrite) {
  settings_.pull = EngineSettings::Pull::kAlways;
  const auto sender = open(2);
  settings_.pull = EngineSettings::Pull::kWhereWritesAreEmulated;
  const auto receiver = open(2);
  const Connection there = connect(*sender, *receiver);
  const Connection back = connect(*receiver, *sender);
  ASSERT_FALSE(HasFailure());
  transfer(*sender, *receiver, there, 8192);
  EXPECT_EQ(counters_.pull_messages, 0u) << "small messages are sent";
  for (const std::size_t bytes : {8193u, 100000u, 1u << 20}) {
    const std::uint64_t before = counters_.pull_messages;
    transfer(*sender, *receiver, there, bytes);
    EXPECT_EQ(counters_.pull_messages, before + 1);
    transfer(*receiver, *sender, back, bytes);
    EXPECT_EQ(counters_.pull_messages, before + 1) << "this side writes";
  }
  for (Engine* engine : {sender.get(), receiver.get()}) {
    const Connection& from = engine == sender.get() ? there : back;
    const Connection& to = engine == sender.get() ? back : there;
    engine->close(*from.send);
    engine->close(*to.recv);
  }
}

class Pulled : public TwoEngines {
 protected:
  void SetUp() override {
    TwoEngines::SetUp();
    settings_.pull = EngineSettings::Pull::kAlways;
  }
  Request* post(Engine& receiver, RecvComm& comm) {
    target_ = receiver.register_memory(comm, to_.data(), to_.size()).value();
    const ReceiveArgs args{.data = to_.data(),
                           .capacity = static_cast<std::uint32_t>(to_.size()),
                           .tag = 1,
                           .registration = target_};
    return receiver.receive(comm, {&args, 1}).value();
  }
  static fi_addr_t address_of(Engine& engine, Rail& from) {
    std::array<std::byte, kHandleBytes> handle;
    Listener* listener = engine.listen(handle).value();
    const auto address = from.endpoint().insert(decode_handle(handle).handle.address);
    engine.close(*listener);
    return address.value();
  }

  std::vector<std::byte> from_ = std::vector<std::byte>(1 << 20);
  std::vector<std::byte> to_ = std::vector<std::byte>(1 << 20);
  Registration* target_ = nullptr;
};

// Over tcp a read goes on only while the other side polls: until then the receiver is reading.
TEST_F(Pulled, ReceivesTakeNoMessageWhileTheyAreRead) {
  const auto sender = open(1);
  const auto receiver = open(1);
  const Connection c = connect(*sender, *receiver);
  ASSERT_FALSE(HasFailure());
  Registration* source = sender->register_memory(*c.send, from_.data(), from_.size()).value();
  Request* receiving = post(*receiver, *c.recv);
  Request* sending = nullptr;
  until([&] {
    EXPECT_FALSE(receiver->test(*receiving, {}).value());
    sending = sender->send(*c.send, from_.data(), from_.size(), 1, source).value();
    return sending != nullptr;
  });
  until([&] {
    EXPECT_FALSE(receiver->test(*receiving, {}).value());
    return c.recv->pulling->reads != 0;
  });
  const auto forger = stranger();
  forger->send_short(address_of(*receiver, *forger), encode(Empty{.comm = c.send->remote}));
  struct Nothing {
    void message(std::span<const std::byte>) {}
    void arrived(std::uint64_t, std::size_t) {}
    bool completed(Op&) { return true; }
    void failed(Op&, const fi_cq_err_entry&) {}
    void lost(const fi_cq_err_entry&) {}
  };
  bool done = false;
  bool failed = false;
  until([&] {
    forger->poll(Nothing{});
    const auto tested = receiver->test(*receiving, {});
    failed = !tested.ok();
    done = tested.ok() && tested.value();
    return failed || done;
  });
  EXPECT_TRUE(failed);
  EXPECT_EQ(c.recv->pulling->reads, 1u);
  EXPECT_EQ(target_->in_flight, 1u);
  sender->close(*c.send);
  receiver->close(*c.recv);
}

// The completion of what was sent may be seen after the news that the receiver has closed.
TEST_F(Pulled, SentMessagesEndAfterTheirReceiverClosed) {
  const auto sender = open(1);
  const auto receiver = open(1);
  const Connection there = connect(*sender, *receiver);
  const Connection back = connect(*receiver, *sender);
  ASSERT_FALSE(HasFailure());
  Request* other = post(*sender, *back.recv);
  constexpr int kUntilQuiet = 1000;
  for (int i = 0; i < kUntilQuiet; ++i) EXPECT_FALSE(sender->test(*other, {}).value());
  Registration* source = sender->register_memory(*there.send, from_.data(), 8).value();
  Request* sending = sender->send(*there.send, from_.data(), 8, 1, source).value();
  ASSERT_NE(sending, nullptr);
  there.send->peer_closed = true;
  until([&] {
    const auto tested = sender->test(*sending, {});
    EXPECT_TRUE(tested.ok());
    return !tested.ok() || tested.value();
  });
  sender->close(*there.send);
  receiver->close(*there.recv);
  receiver->close(*back.send);
  sender->close(*back.recv);
}

TEST(RemoteRegions, AreNotReplacedByOlderOnesThatComeLate) {
  RegionNames names;
  const std::uint32_t old = names.take().value();
  names.give_back(old);
  const std::uint32_t young = names.take().value();
  ASSERT_EQ(RemoteRegions::index_of(old), RemoteRegions::index_of(young));
  RemoteRegions regions;
  EXPECT_TRUE(regions.learn({.comm = 0, .region = young, .base = 2, .rails = 1}));
  EXPECT_TRUE(regions.learn({.comm = 0, .region = old, .base = 1, .rails = 1}));
  ASSERT_NE(regions.find(young), nullptr);
  EXPECT_EQ(regions.find(young)->base, 2u);
  EXPECT_EQ(regions.find(old), nullptr);
}

class Listening : public TwoEngines {};

TEST_F(Listening, IgnoresWhoeverDoesNotKnowTheSecret) {
  settings_.connect_timeout_ms = 1000;
  const auto sender = open(1);
  const auto receiver = open(1);
  std::array<std::byte, kHandleBytes> handle;
  Listener* listener = receiver->listen(handle).value();
  Handle forged = decode_handle(handle).handle;
  ++forged.secret;
  encode(forged, handle);
  bool refused = false;
  until([&] {
    const auto connected = sender->connect(handle);
    refused = !connected.ok();
    EXPECT_EQ(receiver->accept(*listener).value(), nullptr);
    return refused;
  });
  EXPECT_TRUE(refused) << "by the deadline";
  receiver->close(*listener);
}

TEST_F(Listening, TellsConnectorsThatItHasClosed) {
  const auto sender = open(1);
  const auto receiver = open(1);
  std::array<std::byte, kHandleBytes> handle;
  Listener* listener = receiver->listen(handle).value();
  std::array<std::byte, kHandleBytes> other;
  Listener* still_there = receiver->listen(other).value();
  receiver->close(*listener);
  until([&] {
    const auto connected = sender->connect(handle);
    EXPECT_EQ(receiver->accept(*still_there).value(), nullptr);
    if (connected.ok()) return false;
    EXPECT_EQ(connected.error().code, Code::kRemote);
    EXPECT_NE(connected.error().text().find("does not listen"), std::string_view::npos);
    return true;
  });
  receiver->close(*still_there);
}

}  // namespace
}  // namespace fabrail::transport
