// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The parts by themselves: addresses, descriptions, sysfs, rings, liveness.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "tests/sim/efa/core/presets.h"
#include "tests/sim/efa/core/ring.h"
#include "tests/sim/efa/core/sysfs_tree.h"
#include "tests/sim/efa/test/network.h"

namespace fabrail::sim {
namespace {

TEST(Address, GidTellsNodeAndDevice) {
  const Address address{300, 31};
  EXPECT_EQ(decode_gid(encode_gid(address)), address);
  Gid foreign = encode_gid(address);
  foreign[8] = 0;
  EXPECT_FALSE(decode_gid(foreign));
}

TEST(DescriptionText, OfEveryPresetReadsBackTheSame) {
  for (const auto name : preset_names()) {
    const auto preset = find_preset(name);
    ASSERT_TRUE(preset) << name;
    std::string error;
    const auto again = parse_description(format_description(*preset), error);
    ASSERT_TRUE(again) << name << ": " << error;
    EXPECT_EQ(format_description(*again), format_description(*preset)) << name;
  }
}

TEST(DescriptionText, PresetsHaveTheNicsOfTheirInstance) {
  struct Case {
    const char* name;
    size_t nics;
    const char* first;
    bool write;
  };
  for (const Case& each :
       {Case{"p4d", 4, "rdmap16s27", false}, Case{"p5", 32, "rdmap79s0", true},
        Case{"p5en", 16, "rdmap85s0", true}, Case{"p6-b200", 8, "rdmap79s0", true},
        Case{"p3dn", 1, "rdmap0s21", false}}) {
    const auto preset = find_preset(each.name);
    ASSERT_TRUE(preset) << each.name;
    EXPECT_EQ(preset->nics().size(), each.nics) << each.name;
    EXPECT_EQ(device_name(preset->nics()[0].address), each.first);
    EXPECT_EQ(preset->profile.rdma_write, each.write) << each.name;
  }
}

TEST(DescriptionText, ErrorNamesTheLine) {
  std::string error;
  for (const char* text : {"generation efa9", "bridge zz numa 0", "nic 0000:10:1b.0", "speed 3",
                           "bridge 10 numa 0\nnic 0000:10:40.0"})
    EXPECT_FALSE(parse_description(text, error)) << text;
  EXPECT_FALSE(parse_description("instance a\nwhat is this\n", error));
  EXPECT_NE(error.find("line 2"), std::string::npos) << error;
}

TEST(Sysfs, ShowsWhatSoftwareLooksUp) {
  const ScratchDirectory scratch;
  const std::string root = scratch.path() + "/sys";
  ASSERT_TRUE(write_sysfs(root, 1, *find_preset("p5")));
  namespace fs = std::filesystem;
  const fs::path device = fs::path(root) / "class/infiniband/rdmap79s0";
  EXPECT_EQ(fs::canonical(device / "device").filename(), "0000:4f:00.0");
  EXPECT_EQ(fs::canonical(device / "device/driver").filename(), "efa");
  EXPECT_EQ(fs::canonical(device / "device/subsystem").filename(), "pci");
  EXPECT_EQ(read_text(device / "device/vendor"), "0x1d0f\n");
  EXPECT_EQ(read_text(device / "device/device"), "0xefa1\n");
  EXPECT_EQ(read_text(device / "ports/1/hw_counters/rdma_read_bytes"), "0\n");
  EXPECT_EQ(read_text(device / "device/config").size(), 256u);
  EXPECT_TRUE(fs::exists(fs::path(root) / "class/infiniband_verbs/abi_version"));
  // The root port 44:00.0 leads to the buses up to 53, its last device: hwloc builds the tree from
  // that.
  EXPECT_EQ(read_text(fs::path(root) / "bus/pci/devices/0000:44:00.0/config").substr(0x18, 3),
            "\x44\x45\x53");
  // NIC and GPU of one switch have their root port in common.
  const auto above = [&](const char* bdf) {
    return fs::canonical(fs::path(root) / "bus/pci/devices" / bdf).parent_path().parent_path();
  };
  EXPECT_EQ(above("0000:4f:00.0"), above("0000:53:00.0"));
  EXPECT_NE(above("0000:4f:00.0"), above("0000:64:00.0"));
}

TEST(Ring, KeepsMessagesInOrderAroundItsEnd) {
  const ScratchDirectory scratch;
  constexpr uint32_t kCapacity = 32 << 10;
  auto file = SharedFile<RingState>::create(scratch.path() + "/ring", ring_file_bytes(kCapacity));
  ASSERT_TRUE(file);
  file->capacity = kCapacity;
  RingReader reader(
      SharedFile<RingState>::open(scratch.path() + "/ring", ring_file_bytes(kCapacity)));
  RingWriter writer(std::move(file));
  uint32_t sent = 0;
  uint32_t received = 0;
  while (received < 5000) {
    const uint32_t bytes = (sent * 977) % kMtuBytes;
    if (std::byte* room = writer.reserve(bytes)) {
      std::memset(room, static_cast<int>(sent & 0xff), bytes);
      MessageHeader header;
      header.payload_bytes = bytes;
      header.cookie = sent++;
      writer.publish(header);
      continue;
    }
    while (const auto entry = reader.front()) {
      ASSERT_EQ(entry->header->cookie, received);
      ASSERT_EQ(entry->payload.size(), (received * 977) % kMtuBytes);
      if (!entry->payload.empty()) {
        ASSERT_EQ(entry->payload.back(), static_cast<std::byte>(received & 0xff));
      }
      reader.consume(Status::kOk);
      const auto ack = writer.next_acknowledgement();
      ASSERT_TRUE(ack);
      ASSERT_EQ(ack->cookie, received++);
    }
  }
}

/// A child that joins the fabric, says so, and waits to be killed.
class MemberChild {
 public:
  explicit MemberChild(const std::string& directory) {
    int ready[2];
    if (pipe(ready) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      const auto membership = Membership::join(directory);
      const ProcessToken token = membership ? membership->token() : 0;
      [[maybe_unused]] const ssize_t n = write(ready[1], &token, sizeof token);
      for (;;) pause();
    }
    [[maybe_unused]] const ssize_t n = read(ready[0], &token_, sizeof token_);
    close(ready[0]);
    close(ready[1]);
  }
  ~MemberChild() { reap(); }
  ProcessToken token() const { return token_; }
  void kill_only() { kill(pid_, SIGKILL); }
  void reap() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  ProcessToken token_ = 0;
};

TEST(Membership, KnowsTheDeadEvenAsZombies) {
  const ScratchDirectory scratch;
  MemberChild child(scratch.path());
  const auto membership = Membership::join(scratch.path());
  ASSERT_TRUE(membership);
  EXPECT_TRUE(membership->alive(membership->token()));
  ASSERT_TRUE(membership->alive(child.token()));
  child.kill_only();
  EXPECT_TRUE(eventually([&] { return !membership->alive(child.token()); }));
}

TEST(Membership, TokenOfAnEarlierLifeStaysDead) {
  const ScratchDirectory scratch;
  MemberChild first(scratch.path());
  const ProcessToken old = first.token();
  first.reap();
  MemberChild second(scratch.path());
  const auto membership = Membership::join(scratch.path());
  ASSERT_NE(second.token(), old);
  EXPECT_FALSE(membership->alive(old));
  EXPECT_TRUE(membership->alive(second.token()));
}

}  // namespace
}  // namespace fabrail::sim
