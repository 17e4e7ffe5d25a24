// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Group A, case 18 exit_paths: a process with open comms ends, in each way that processes end.
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "tests/conformance/fixtures.h"

namespace fabrail::conformance {
namespace {

enum class Ending { kExit, kQuickExit, kAbort, kTerminated, kUnloaded };

struct SharedName {
  std::array<char, 256> path{};
};

// Only what this process has to do with: other programs share /dev/shm.
std::set<std::string> mapped_shared_memory() {
  std::set<std::string> names;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t at = line.find("/dev/shm/");
    // Emulated NICs keep their own files; on a real machine there would be none.
    if (line.find("/dev/shm/fabrail-sim-") != std::string::npos) continue;
    if (at != std::string::npos && line.find(" (deleted)") == std::string::npos) {
      names.insert(line.substr(at));
    }
  }
  return names;
}

void report_shared_memory(Channel& channel) {
  const auto names = mapped_shared_memory();
  channel.tell(std::ssize(names));
  for (const std::string& name : names) {
    SharedName out;
    name.copy(out.path.data(), out.path.size() - 1);
    channel.send(out);
  }
}

void end_by_dlclose() {
  dlclose(library().native());
  std::exit(0);
}

void end_as(Ending ending) {
  switch (ending) {
    case Ending::kExit:
      std::exit(0);
    case Ending::kQuickExit:
      _exit(0);
    case Ending::kAbort:
      std::abort();
    case Ending::kTerminated:
      raise(SIGTERM);
      break;
    case Ending::kUnloaded:
      end_by_dlclose();
  }
}

void run_at_exit() {}

void end_with_open_comms(Net& net, Channel& channel) {
  std::atexit(run_at_exit);
  const auto ending = static_cast<Ending>(channel.hear());
  Pair loopback = connect_loopback(net);
  Pair to_peer = connect_to_peer(net, channel);
  Listener listener = open_listener(net);
  EXPECT_TRUE(works(net, loopback));
  Buffer memory(1 << 20);
  Mr mr(net, to_peer.recv.get(), memory.bytes());
  Pending never = post_recv(net, to_peer.recv, {slice(memory.bytes(), mr)});
  EXPECT_TRUE(never.posted());
  report_shared_memory(channel);
  if (testing::UnitTest::GetInstance()->Failed()) _exit(1);
  end_as(ending);
}
const Role kEndWithOpenComms("end_with_open_comms", end_with_open_comms);

// The other end: connected, and gone by a plain return from main once it is told.
void leave_last(Net& net, Channel& channel) {
  Pair pair = connect_to_peer(net, channel);
  EXPECT_TRUE(pair);
  report_shared_memory(channel);
  channel.hear();
}
const Role kLeaveLast("leave_last", leave_last);

// Carries the two handles across; false when a process did not come that far.
bool introduce(Peer& one, Peer& other) {
  Handle from_one;
  Handle from_other;
  return one.channel().receive(from_one) && other.channel().receive(from_other) &&
         one.channel().send(from_other) && other.channel().send(from_one);
}

std::set<std::string> hear_shared_memory(Channel& channel) {
  std::set<std::string> names;
  for (int64_t left = channel.hear(); left > 0; --left) {
    SharedName name;
    if (channel.receive(name)) names.insert(name.path.data());
  }
  return names;
}

struct EndingCase {
  Ending ending;
  int signal;  ///< that ends the process; 0: an exit status of 0
  const char* name;
};

class ExitPath : public testing::TestWithParam<EndingCase> {};

void expect_ended_as(const EndingCase& expected, int status) {
  if (expected.signal == 0) {
    ASSERT_TRUE(WIFEXITED(status)) << "died of signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  } else {
    ASSERT_TRUE(WIFSIGNALED(status)) << "exited with " << WEXITSTATUS(status);
    EXPECT_EQ(WTERMSIG(status), expected.signal);
  }
}

// This process loads no plugin: whatever is left over belongs to one of the two.
TEST_P(ExitPath, EndsWithoutHangOrLeftovers) {
  Peer leaving(kEndWithOpenComms, primary_abi());
  Peer partner(kLeaveLast, primary_abi());
  leaving.channel().tell(static_cast<int64_t>(GetParam().ending));
  ASSERT_TRUE(introduce(leaving, partner));
  auto names = hear_shared_memory(leaving.channel());
  names.merge(hear_shared_memory(partner.channel()));
  expect_ended_as(GetParam(), leaving.wait());
  partner.channel().tell(0);
  partner.expect_success();
  if (GetParam().ending != Ending::kExit && GetParam().ending != Ending::kUnloaded) return;
  for (const std::string& name : names) {
    EXPECT_FALSE(std::filesystem::exists(name)) << name << " is left over";
  }
}

constexpr std::array kEndings = {EndingCase{Ending::kExit, 0, "Exit"},
                                 EndingCase{Ending::kQuickExit, 0, "UnderscoreExit"},
                                 EndingCase{Ending::kAbort, SIGABRT, "Abort"},
                                 EndingCase{Ending::kTerminated, SIGTERM, "Sigterm"},
                                 EndingCase{Ending::kUnloaded, 0, "DlcloseThenExit"}};

INSTANTIATE_TEST_SUITE_P(Process, ExitPath, testing::ValuesIn(kEndings),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace fabrail::conformance
