// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One scenario for each fault of the emulated NICs, while two nodes talk over two rails: they carry
// on, or both are told. Nobody hangs, nobody dies, and afterwards they can talk again.
#include <array>
#include <cctype>
#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/conformance/fixtures.h"
#include "tests/conformance/log_lines.h"
#include "tests/efa/network.h"

namespace fabrail::efa {
namespace {

using namespace conformance;

constexpr std::array<size_t, 4> kSizes{512, 1 << 20, 60'000, 0};  // eager, striped, whole, empty
constexpr size_t kRoom = 1 << 20;
constexpr uint64_t kBefore = 16;  // messages each way until the fault
constexpr uint64_t kInAll = 64;
constexpr std::chrono::seconds kPatienceHere{25};

// The plugin asks soon, gives up soon, and cuts what it can.
const Environment kSoon{"FABRAIL_PROBE_S=1", "FABRAIL_CONNECT_TIMEOUT_S=4",
                        "FABRAIL_MIN_STRIPE_BYTES=65536", "FABRAIL_RAILS=2"};

/// Messages of all sizes both ways, one at a time each, until `count` or until an error.
class Talk {
 public:
  Talk(const Net& net, Pair pair, bool is_first)
      : net_(net), pair_(std::move(pair)), first_seed_(is_first ? 0 : 1'000'000) {
    out_mr_.emplace(net_, pair_.send.get(), out_.bytes());
    in_mr_.emplace(net_, pair_.recv.get(), in_.bytes());
  }

  /// False if it has neither come so far nor failed in time.
  bool run_to(uint64_t count) {
    return poll_until(
        [&] {
          advance_send(count);
          advance_recv(count);
          return failed() || (sent_ >= count && received_ >= count);
        },
        Deadline(kPatienceHere));
  }
  bool failed() const { return send_.failed() || recv_.failed(); }
  Result result() const { return send_.failed() ? send_.result : recv_.result; }
  std::string where() const {
    return std::to_string(sent_) + " sent, " + std::to_string(received_) + " received, send " +
           std::to_string(send_.result) + ", receive " + std::to_string(recv_.result);
  }
  /// What NCCL does after an error, and at the end.
  void close() {
    EXPECT_EQ(out_mr_->deregister(), NCCL_NET_SUCCESS);
    EXPECT_EQ(in_mr_->deregister(), NCCL_NET_SUCCESS);
    EXPECT_EQ(pair_.send.close(), NCCL_NET_SUCCESS);
    EXPECT_EQ(pair_.recv.close(), NCCL_NET_SUCCESS);
  }

 private:
  static size_t size_of(uint64_t number) { return kSizes[number % kSizes.size()]; }
  uint64_t theirs() const { return 1'000'000 - first_seed_; }

  void advance_send(uint64_t count) {
    if (send_.failed() || sent_ >= count) return;
    if (!send_.in_flight()) {
      const Bytes part = out_.part(0, size_of(sent_));
      fill_pattern(part, first_seed_ + sent_);
      send_ = try_isend(net_, pair_.send, slice(part, *out_mr_));
    }
    step(net_, send_);
    if (!send_.done) return;
    send_ = {};
    ++sent_;
  }
  void advance_recv(uint64_t count) {
    if (recv_.failed() || received_ >= count) return;
    if (!recv_.in_flight()) recv_ = try_irecv(net_, pair_.recv, {slice(in_.bytes(), *in_mr_)});
    step(net_, recv_);
    if (!recv_.done) return;
    const Bytes part = in_.part(0, size_of(received_));
    EXPECT_EQ(recv_.sizes[0], static_cast<int>(part.size()));
    EXPECT_TRUE(has_pattern(part, theirs() + received_)) << "message " << received_;
    recv_ = {};
    ++received_;
  }

  const Net& net_;
  Pair pair_;
  uint64_t first_seed_;
  Buffer out_{kRoom};
  Buffer in_{kRoom};
  std::optional<Mr> out_mr_;
  std::optional<Mr> in_mr_;
  Pending send_;
  Pending recv_;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
};

/// How a talk ended for one side.
enum class End : int64_t { kDone, kError, kHangs };

End end_of(Talk& talk) {
  const bool in_time = talk.run_to(kInAll);
  EXPECT_TRUE(in_time) << "hangs: " << talk.where();
  const End end = !in_time ? End::kHangs : talk.failed() ? End::kError : End::kDone;
  if (end == End::kError) {
    EXPECT_EQ(talk.result(), NCCL_NET_REMOTE_ERROR);
    EXPECT_GE(logged_warnings(), 1) << "the error has no explanation";
  }
  return end;
}

/// Connects both ways, as far as that goes: empty where connect said that it does not.
Pair try_to_connect(const Net& net, Channel& channel) {
  Listener listener = open_listener(net);
  Handle theirs;
  if (!listener.comm || !channel.send(listener.handle) || !channel.receive(theirs)) return {};
  Pair pair;
  bool refused = false;
  const auto advance = [&] {
    if (!pair.send && !refused) {
      const PollResult now = poll_connect(net, theirs);
      refused = now.result != NCCL_NET_SUCCESS;
      if (now.comm != nullptr) pair.send = SendComm(net, now.comm);
    }
    if (pair.recv) return;
    const PollResult now = poll_accept(net, listener.comm);
    if (now.comm != nullptr) pair.recv = RecvComm(net, now.comm);
  };
  const auto ended = [&] { return refused || pair.send; };
  EXPECT_TRUE(poll_until([&] { return advance(), ended(); }, Deadline(kPatienceHere)))
      << "connect hangs";
  channel.tell(pair.send ? 1 : 0);
  poll_until([&] { return advance(), channel.pending(); }, Deadline(kPatienceHere));
  const bool they_reached_us = channel.hear() == 1;
  const auto accepted = [&] { return advance(), pair.recv.get() != nullptr; };
  EXPECT_TRUE(!they_reached_us || poll_until(accepted));
  return they_reached_us && pair.send ? std::move(pair) : Pair{};
}

/// After the fault: the two connect and talk, or are told that they cannot. (libfabric 1.17
/// delivers nothing more from a process of which it has missed a message.)
void talk_again(const Net& net, Channel& channel, bool is_first, bool must_work) {
  Pair pair = try_to_connect(net, channel);
  EXPECT_TRUE(pair || !must_work);
  if (!pair) return;
  Talk talk(net, std::move(pair), is_first);
  EXPECT_TRUE(talk.run_to(kBefore)) << "hangs: " << talk.where();
  EXPECT_FALSE(must_work && talk.failed()) << talk.where();
  channel.tell(0);
  EXPECT_EQ(channel.hear(), 0);
  talk.close();
}

enum class Next : int64_t { kEnd, kTryAgain, kTalkAgain };

void answer(Net& net, Channel& channel) {
  Talk talk(net, connect_to_peer(net, channel), false);
  talk.run_to(kBefore);
  channel.tell(static_cast<int64_t>(end_of(talk)));
  talk.close();
  const auto next = static_cast<Next>(channel.hear());
  if (next != Next::kEnd) talk_again(net, channel, false, next == Next::kTalkAgain);
}
const Role kAnswer("answer", answer);

enum class Outcome {
  kCarriesOn,  ///< every message arrives
  kFails,      ///< both sides are told
  kEither,     ///< depends on what libfabric does by itself
};

struct Fault {
  const char* name;
  std::vector<const char*> commands;  ///< of fabrail-sim, when they talk
  Outcome outcome;
  enum class Then { kTalkAgain, kEnd } then = Then::kTalkAgain;
  /// FABRAIL_TIMEOUT_S: without it what does not move is waited for.
  const char* timeout_s = "0";
};
constexpr Fault::Then kEnd = Fault::Then::kEnd;
constexpr Fault::Then kTalkAgain = Fault::Then::kTalkAgain;

Environment settings_for(const Fault& fault) {
  Environment all = kSoon;
  all.push_back(std::string("FABRAIL_TIMEOUT_S=") + fault.timeout_s);
  return all;
}

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class Faults : public testing::TestWithParam<Fault> {};

TEST_P(Faults, AreSurvivedOrTold) {
  const Fault& fault = GetParam();
  const Environment settings = settings_for(fault);
  RUN_IN_OWN_PROCESS(settings);
  sim("shape --unresponsive 500ms");
  OpenNet open(primary_abi());
  Environment there = on_node(1);
  there.insert(there.end(), settings.begin(), settings.end());
  Peer peer(kAnswer, primary_abi(), there);
  Talk talk(open.net(), connect_to_peer(open.net(), peer.channel()), true);
  ASSERT_TRUE(talk.run_to(kBefore) && !talk.failed()) << talk.where();
  for (const char* const command : fault.commands) sim(command);
  const End ours = end_of(talk);
  const std::string where = talk.where();
  talk.close();
  const auto theirs = static_cast<End>(peer.channel().hear());
  EXPECT_EQ(ours, theirs) << "one side believes that all is well: " << where;
  if (fault.outcome == Outcome::kCarriesOn) {
    EXPECT_EQ(ours, End::kDone) << where;
  }
  if (fault.outcome == Outcome::kFails) {
    EXPECT_EQ(ours, End::kError) << where;
  }
  sim("mend");
  sim("shape --rate 0 --latency 0us --jitter 0us --shuffle 0");
  const bool fine = ours == End::kDone;
  const Next next = fault.then == kEnd ? Next::kEnd : fine ? Next::kTalkAgain : Next::kTryAgain;
  peer.channel().tell(static_cast<int64_t>(next));
  if (next != Next::kEnd) talk_again(open.net(), peer.channel(), true, fine);
  peer.expect_success();
}

std::vector<Fault> network_faults() {
  return {
      {"LinkDownForAMoment", {"break link-down --node 1", "break link-up"}, Outcome::kCarriesOn},
      {"LinkDown", {"break link-down --node 1"}, Outcome::kFails},
      {"OneRailDown", {"break link-down --node 1 --nic 1"}, Outcome::kFails},
      {"OneRailDownHere", {"break link-down --node 0 --nic 0"}, Outcome::kFails},
      {"RateCut", {"shape --rate 20MB"}, Outcome::kCarriesOn},
      {"OneRailSlow", {"shape --rate 5MB --node 1 --nic 1"}, Outcome::kCarriesOn},
      {"Delay", {"break delay --delay 20ms --chance 30%"}, Outcome::kCarriesOn},
      {"Latency", {"shape --latency 1ms --jitter 4ms"}, Outcome::kCarriesOn},
      {"Reorder", {"shape --shuffle 64"}, Outcome::kCarriesOn},
      {"NotReadyStorm", {"break not-ready --chance 90%"}, Outcome::kCarriesOn},
      {"NeverReady", {"break not-ready"}, Outcome::kFails, kTalkAgain, "4"},
      {"StalledForAMoment", {"break stall", "mend"}, Outcome::kCarriesOn},
      {"StalledForGood", {"break stall"}, Outcome::kFails, kTalkAgain, "4"},
      {"StalledReads", {"break stall --on read,write"}, Outcome::kEither, kTalkAgain, "4"},
      {"OneRailStalled", {"break stall --node 1 --nic 1"}, Outcome::kFails, kTalkAgain, "4"},
      {"DuplicateWrites", {"break duplicate --on write"}, Outcome::kCarriesOn},
      {"UnreachableForALongTime", {"break fail --status 15 --delay 1s"}, Outcome::kFails},
  };
}

// Each takes a network of its own with it.
std::vector<Fault> losses() {
  return {
      {"NicLostHere", {"break lose --node 0 --nic 1"}, Outcome::kFails, kEnd},
      {"NicLostThere", {"break lose --node 1 --nic 1"}, Outcome::kFails, kEnd},
      {"AllNicsLostThere", {"break lose --node 1"}, Outcome::kFails, kEnd},
  };
}

std::string lower_case(std::string word) {
  word[0] = static_cast<char>(std::tolower(word[0]));
  return word;
}

// Each status on each kind of operation, once on each NIC; but a queue pair that is gone stays so.
std::vector<Fault> status_faults() {
  static std::vector<std::string> texts;  // the rows point into it
  constexpr int kGone = 9;
  constexpr std::array kStatuses{1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  constexpr std::array kOperations{"Send", "Read", "Write"};
  texts.reserve(2 * kStatuses.size() * kOperations.size());
  std::vector<Fault> all;
  for (const char* const operation : kOperations) {
    for (const int status : kStatuses) {
      texts.push_back("Status" + std::to_string(status) + "On" + operation);
      const char* const name = texts.back().c_str();
      const bool lasts = status == kGone;
      texts.push_back("break fail --times " + std::string(lasts ? "0" : "1") + " --status " +
                      std::to_string(status) + " --on " + lower_case(operation));
      all.push_back({name, {texts.back().c_str()}, Outcome::kEither, kEnd});
    }
  }
  return all;
}

std::string fault_name(const testing::TestParamInfo<Fault>& row) { return row.param.name; }
INSTANTIATE_TEST_SUITE_P(Network, Faults, testing::ValuesIn(network_faults()), fault_name);
INSTANTIATE_TEST_SUITE_P(Lost, Faults, testing::ValuesIn(losses()), fault_name);
INSTANTIATE_TEST_SUITE_P(Each, Faults, testing::ValuesIn(status_faults()), fault_name);

}  // namespace
}  // namespace fabrail::efa
