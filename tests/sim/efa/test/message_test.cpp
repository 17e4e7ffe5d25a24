// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Messages between queue pairs: SRD and UD, limits, refusals, completions.
#include <cerrno>
#include <cstring>
#include <set>

#include "tests/sim/efa/test/network.h"

namespace fabrail::sim {
namespace {

TEST(Message, ArrivesWholeAndCompletesAtBothEnds) {
  Network network;
  Endpoint sender(network.device(0));
  Endpoint receiver(network.device(1));
  sender.fill(3);
  ASSERT_EQ(receiver.receive(8, 0, kMtuBytes), 0);
  ASSERT_EQ(sender.post(send_request(9, sender, kMtuBytes, receiver)), 0);
  const Completion received = receiver.wait();
  EXPECT_EQ(received.id, 8u);
  EXPECT_EQ(received.status, Status::kOk);
  EXPECT_EQ(received.bytes, kMtuBytes);
  EXPECT_EQ(received.source_qpn, sender.queue_pair().number());
  EXPECT_EQ(std::memcmp(receiver.memory().data(), sender.memory().data(), kMtuBytes), 0);
  const Completion sent = sender.wait();
  EXPECT_EQ(sent.id, 9u);
  EXPECT_EQ(sent.status, Status::kOk);
}

TEST(Message, CarriesInlineDataAndImmediate) {
  Network network;
  Endpoint sender(network.device(0));
  Endpoint receiver(network.device(1));
  ASSERT_EQ(receiver.receive(1, 0, 64), 0);
  WorkRequest request = send_request(2, sender, 0, receiver);
  request.segment_count = 0;
  request.is_inline = true;
  request.bytes = kInlineBytes;
  request.inline_data.fill(std::byte{0x5a});
  request.has_immediate = true;
  request.immediate = 0x12345678;
  ASSERT_EQ(sender.post(request), 0);
  const Completion received = receiver.wait();
  EXPECT_TRUE(received.has_immediate);
  EXPECT_EQ(received.immediate, 0x12345678u);
  EXPECT_EQ(receiver.memory()[kInlineBytes - 1], 0x5a);
}

TEST(Message, CompletesAtTheSenderOnlyWhenConsumed) {
  Network network;
  Endpoint sender(network.device(0));
  Endpoint receiver(network.device(1));
  sender.queue_pair().set_rnr_retry(kRnrForever);
  ASSERT_EQ(sender.post(send_request(1, sender, 100, receiver)), 0);
  Completion completion;
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(sender.poll(completion));
  ASSERT_EQ(receiver.receive(2, 0, 100), 0);
  EXPECT_EQ(sender.wait().status, Status::kOk);
}

TEST(Message, ArrivesThoughTheReceiverNeverPolls) {
  Network network;
  Endpoint sender(network.device(0));
  Endpoint receiver(network.device(1));
  ASSERT_EQ(receiver.receive(1, 0, 100), 0);
  ASSERT_EQ(sender.post(send_request(2, sender, 100, receiver)), 0);
  EXPECT_EQ(sender.wait().status, Status::kOk);  // taken by the engine of the receiver's node
}

TEST(Message, LeavesThoughTheSenderNeverPolls) {
  Network network;
  Endpoint sender(network.device(0));
  Endpoint receiver(network.device(1));
  ASSERT_EQ(sender.post(send_request(1, sender, 100, receiver)), 0);  // waits: nothing is posted
  ASSERT_EQ(receiver.receive(2, 0, 100), 0);
  EXPECT_EQ(receiver.wait().id, 2u);
}

TEST(Message, FailsWhenRetriesForAReceiveAreUsedUp) {
  Network network;
  Endpoint sender(network.device(0));
  Endpoint receiver(network.device(1));
  sender.queue_pair().set_rnr_retry(2);
  ASSERT_EQ(sender.post(send_request(1, sender, 100, receiver)), 0);
  EXPECT_EQ(sender.wait().status, Status::kReceiverNotReady);
  EXPECT_EQ(counted(network.state(0), Counter::kRetransmittedPackets), 2u);
}

TEST(Message, TooLongForTheBufferFailsAtBothEnds) {
  Network network;
  Endpoint sender(network.device(0));
  Endpoint receiver(network.device(1));
  ASSERT_EQ(receiver.receive(1, 0, 50), 0);
  ASSERT_EQ(sender.post(send_request(2, sender, 51, receiver)), 0);
  EXPECT_EQ(receiver.wait().status, Status::kBadLength);
  EXPECT_EQ(sender.wait().status, Status::kRemoteBadLength);
}

TEST(Message, IsRefusedForAWrongQueueKeyOrNumber) {
  Network network;
  Endpoint sender(network.device(0));
  Endpoint receiver(network.device(1));
  WorkRequest request = send_request(1, sender, 1, receiver);
  request.to.queue_key ^= 1;
  ASSERT_EQ(sender.post(request), 0);
  EXPECT_EQ(sender.wait().status, Status::kBadDestinationQpn);
  request.to = receiver.destination();
  request.to.qpn += 100;
  ASSERT_EQ(sender.post(request), 0);
  EXPECT_EQ(sender.wait().status, Status::kBadDestinationQpn);
}

TEST(Message, ToAQueuePairThatClosedFails) {
  Network network;
  Endpoint sender(network.device(0));
  Endpoint receiver(network.device(1));
  ASSERT_EQ(sender.post(send_request(1, sender, 100, receiver)), 0);
  receiver.close();
  EXPECT_EQ(sender.wait().status, Status::kBadDestinationQpn);
}

TEST(Message, WithAStaleKeyFails) {
  Network network;
  Endpoint sender(network.device(0));
  Endpoint receiver(network.device(1));
  ASSERT_EQ(receiver.receive(1, 0, 100), 0);
  WorkRequest request = send_request(2, sender, 100, receiver);
  request.segments[0].key += 1u << 16;  // another generation of the same slot
  ASSERT_EQ(sender.post(request), 0);
  EXPECT_EQ(sender.wait().status, Status::kInvalidLkey);
}

TEST(Message, QueueThatIsFullSaysSo) {
  Network network;
  Endpoint sender(network.device(0), {.depth = 4});
  Endpoint receiver(network.device(1), {.depth = 2});
  for (uint64_t i = 0; i < 2; ++i) EXPECT_EQ(receiver.receive(i, 0, 10), 0);
  EXPECT_EQ(receiver.receive(2, 0, 10), ENOMEM);
  const WorkRequest request = send_request(1, sender, 10, receiver);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(sender.post(request), 0);
  EXPECT_EQ(sender.post(request), ENOMEM);
  sender.wait();  // a place is free when its completion was polled
  EXPECT_EQ(sender.post(request), 0);
}

TEST(Message, FloodFromManySendersArrivesOnceEach) {
  constexpr uint64_t kEach = 400;
  Network network("shuffle 16");
  std::vector<std::unique_ptr<Endpoint>> senders;
  for (size_t i = 0; i < 4; ++i)
    senders.push_back(std::make_unique<Endpoint>(network.device(i % 2, i / 2)));
  Endpoint receiver(network.device(1), {.depth = 64});
  for (uint64_t i = 0; i < 64; ++i) ASSERT_EQ(receiver.receive(i, i * 512, 512), 0);
  std::set<uint32_t> seen;
  std::vector<uint64_t> posted(senders.size());
  ASSERT_TRUE(eventually([&] {
    Completion completion;
    for (size_t s = 0; s < senders.size(); ++s) {
      WorkRequest request = send_request(1, *senders[s], 500, receiver);
      request.has_immediate = true;
      request.immediate = static_cast<uint32_t>(s << 16 | posted[s]);
      if (posted[s] < kEach && senders[s]->post(request) == 0) ++posted[s];
      while (senders[s]->poll(completion)) EXPECT_EQ(completion.status, Status::kOk);
    }
    while (receiver.poll(completion)) {
      EXPECT_TRUE(seen.insert(completion.immediate).second);
      EXPECT_EQ(receiver.receive(completion.id, completion.id * 512, 512), 0);
    }
    return seen.size() == senders.size() * kEach;
  }));
}

TEST(Datagram, SkipsRoomForAHeaderAndIsDroppedWithoutReceive) {
  Network network;
  Endpoint sender(network.device(0), {.reliable = false});
  Endpoint receiver(network.device(1), {.reliable = false});
  sender.fill(1);
  ASSERT_EQ(sender.post(send_request(1, sender, 100, receiver)), 0);
  EXPECT_EQ(sender.wait().status, Status::kOk);  // lost, and nobody says so
  ASSERT_EQ(receiver.receive(2, 0, 1000), 0);
  ASSERT_EQ(sender.post(send_request(3, sender, 100, receiver)), 0);
  const Completion received = receiver.wait();
  EXPECT_EQ(received.bytes, 140u);
  EXPECT_EQ(std::memcmp(receiver.memory().data() + 40, sender.memory().data(), 100), 0);
}

TEST(QueuePair, FlushesWhatIsPostedWhenItFails) {
  Network network;
  Endpoint sender(network.device(0));
  Endpoint receiver(network.device(1));
  ASSERT_EQ(sender.receive(1, 0, 10), 0);
  ASSERT_EQ(sender.post(send_request(2, sender, 10, receiver)), 0);
  sender.queue_pair().fail();
  EXPECT_EQ(sender.wait().status, Status::kFlushed);
  EXPECT_EQ(sender.wait().status, Status::kFlushed);
  ASSERT_EQ(sender.post(send_request(3, sender, 10, receiver)), 0);
  EXPECT_EQ(sender.wait().status, Status::kFlushed);
}

TEST(QueuePair, ThatFailedLeavesWhatArrivesAndTheEngineInPeace) {
  Network network;
  Endpoint sender(network.device(0));
  Endpoint receiver(network.device(1));
  ASSERT_EQ(receiver.receive(1, 0, 10), 0);
  ASSERT_EQ(sender.post(send_request(1, sender, 10, receiver)), 0);
  receiver.queue_pair().fail();
  receiver.wait();
  const Status status = sender.wait().status;  // it came before or after the failure
  EXPECT_TRUE(status == Status::kOk || status == Status::kBadDestinationQpn);
  EXPECT_FALSE(receiver.queue_pair().progress());
}

TEST(QueuePair, NumbersAreUniqueAndRunOut) {
  Network network("max_qps 3");
  Endpoint a(network.device(0));
  Endpoint b(network.device(0));
  auto c = std::make_unique<Endpoint>(network.device(0));
  EXPECT_NE(a.queue_pair().number(), b.queue_pair().number());
  EXPECT_FALSE(network.device(0).take_qpn());
  c.reset();
  EXPECT_TRUE(network.device(0).take_qpn());
}

TEST(CompletionQueue, SaysOnceThatItOverran) {
  CompletionQueue queue(2, nullptr);
  int overruns = 0;
  queue.on_overrun = [&] { ++overruns; };
  Random random(1);
  for (int i = 0; i < 4; ++i) queue.push({}, 0, random);
  EXPECT_EQ(overruns, 1);
}

TEST(CompletionEvent, ComesOncePerArmingWhileNobodyPolls) {
  Network network;
  EventChannel channel;
  CompletionQueue events(16, &channel);
  QueuePairOptions options{.pd = Endpoint::kPd,
                           .send_depth = 4,
                           .receive_depth = 4,
                           .send_completions = &events,
                           .receive_completions = &events};
  Endpoint sender(network.device(0));
  Endpoint memory(network.device(1));
  auto receiver = QueuePair::open(network.device(1), options);
  receiver->set_queue_key(Endpoint::kQueueKey);
  receiver->start_receiving();
  ReceiveRequest request{.id = 1, .segment_count = 1, .segments = {memory.segment(0, 100)}};
  ASSERT_EQ(receiver->post_receive(request), 0);
  events.arm();
  WorkRequest message = send_request(1, sender, 100, memory);
  message.to.qpn = receiver->number();
  ASSERT_EQ(sender.post(message), 0);
  EXPECT_EQ(channel.wait(), &events);
  EXPECT_FALSE(events.armed());
}

}  // namespace
}  // namespace fabrail::sim
