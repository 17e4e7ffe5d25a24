// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What a NIC wrote stays unseen until a flush through that NIC, a driver flush, or a delay.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include "tests/sim/gpu/emugpu.h"
#include "tests/sim/gpu/tests/fresh_process.h"

namespace emugpu {
namespace {

constexpr std::size_t kBytes = 2 << 20;
constexpr const char* kLong = "100000000";  // longer than any test runs
constexpr std::uint64_t kNic = 7;
constexpr std::uint64_t kOtherNic = 8;

struct Buffer {
  explicit Buffer(int device = 0) {
    bind_device(device);
    address = allocate(kBytes);
    alias = static_cast<char*>(emugpu_alias(pointer(address), kBytes));
  }

  void nic_writes(std::uint64_t nic, std::size_t offset, const char* text) {
    std::memcpy(alias + offset, text, std::strlen(text));
    emugpu_nic_wrote(nic, pointer(address + offset), std::strlen(text));
  }
  void nic_reads(std::uint64_t nic) const { emugpu_nic_read(nic, pointer(address), 1); }
  [[nodiscard]] bool shows(std::size_t offset, const char* text) const {
    return std::memcmp(emugpu_kernel_address(pointer(address + offset)), text, std::strlen(text)) ==
           0;
  }

  CUdeviceptr address = 0;
  char* alias = nullptr;
};

CUresult driver_flush() {
  return cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                    CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
}

TEST(DelayedVisibility, EveryByteIsWrongUntilTheSameNicReads) {
  in_fresh_process({{"EMUGPU_VISIBLE_AFTER_MS", kLong}}, [] {
    Buffer buffer;
    buffer.nic_writes(kNic, 10, "data");
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NE(buffer.alias[10 + i], "data"[i]);
    EXPECT_EQ(emugpu_invisible_bytes(), 4u);
    buffer.nic_reads(kOtherNic);
    EXPECT_FALSE(buffer.shows(10, "data"));
    buffer.nic_reads(kNic);
    EXPECT_TRUE(buffer.shows(10, "data"));
    EXPECT_EQ(emugpu_invisible_bytes(), 0u);
  });
}

TEST(DelayedVisibility, DriverFlushShowsWritesToItsDeviceOnly) {
  in_fresh_process({{"EMUGPU_VISIBLE_AFTER_MS", kLong}, {"EMUGPU_COUNT", "2"}}, [] {
    Buffer first(0);
    Buffer second(1);
    first.nic_writes(kNic, 0, "one");
    first.nic_writes(kOtherNic, 64, "rail");
    second.nic_writes(kNic, 0, "two");
    bind_device(0);
    ASSERT_EQ(driver_flush(), CUDA_SUCCESS);
    EXPECT_TRUE(first.shows(0, "one"));
    EXPECT_TRUE(first.shows(64, "rail"));
    EXPECT_FALSE(second.shows(0, "two"));
  });
}

TEST(DelayedVisibility, AReadPushesToTheDeviceThatItReadsOnly) {
  in_fresh_process({{"EMUGPU_VISIBLE_AFTER_MS", kLong}, {"EMUGPU_COUNT", "2"}}, [] {
    Buffer first(0);
    Buffer second(1);
    first.nic_writes(kNic, 0, "one");
    second.nic_writes(kNic, 0, "two");
    char local = 0;
    emugpu_nic_read(kNic, &local, 1);
    EXPECT_FALSE(first.shows(0, "one"));
    second.nic_reads(kNic);
    EXPECT_FALSE(first.shows(0, "one"));
    EXPECT_TRUE(second.shows(0, "two"));
  });
}

// A remote NIC writes into memory, and its target announces that later.
TEST(DelayedVisibility, WritesThatLandBeforeEarlierOnesAreAnnouncedStay) {
  in_fresh_process({{"EMUGPU_VISIBLE_AFTER_MS", kLong}}, [] {
    Buffer buffer;
    std::memcpy(buffer.alias, "old!", 4);
    std::memcpy(buffer.alias, "new.", 4);
    emugpu_nic_wrote(kNic, pointer(buffer.address), 4);
    emugpu_nic_wrote(kNic, pointer(buffer.address), 4);
    buffer.nic_reads(kNic);
    EXPECT_TRUE(buffer.shows(0, "new."));
  });
}

TEST(DelayedVisibility, ANewerWriteIsNotUndoneByTheOldOnesFlush) {
  in_fresh_process({{"EMUGPU_VISIBLE_AFTER_MS", kLong}}, [] {
    Buffer buffer;
    buffer.nic_writes(kNic, 0, "old!");
    std::memcpy(buffer.alias, "new.", 4);  // landed, not announced
    buffer.nic_reads(kNic);
    EXPECT_TRUE(buffer.shows(0, "new."));
  });
}

TEST(DelayedVisibility, LaterWriteToTheSamePlaceWins) {
  in_fresh_process({{"EMUGPU_VISIBLE_AFTER_MS", kLong}}, [] {
    Buffer buffer;
    buffer.nic_writes(kNic, 0, "aaaa");
    buffer.nic_writes(kNic, 2, "bbbb");
    buffer.nic_reads(kNic);
    EXPECT_TRUE(buffer.shows(0, "aabbbb"));
  });
}

TEST(DelayedVisibility, EndsByItself) {
  in_fresh_process({{"EMUGPU_VISIBLE_AFTER_MS", "1"}}, [] {
    Buffer buffer;
    buffer.nic_writes(kNic, 0, "data");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (emugpu_invisible_bytes() > 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(buffer.shows(0, "data"));
  });
}

TEST(DelayedVisibility, FreedMemoryIsForgotten) {
  in_fresh_process({{"EMUGPU_VISIBLE_AFTER_MS", kLong}}, [] {
    Buffer buffer;
    buffer.nic_writes(kNic, 0, "data");
    ASSERT_EQ(cuMemFree(buffer.address), CUDA_SUCCESS);
    EXPECT_EQ(emugpu_invisible_bytes(), 0u);
    Buffer other;
    other.nic_reads(kNic);  // must not write to what is gone
  });
}

TEST(DelayedVisibility, WritesAreSeenAtOnceWhenTheDeviceOrdersThem) {
  in_fresh_process({{"EMUGPU_VISIBLE_AFTER_MS", kLong}, {"EMUGPU_WRITES_ORDERING", "100"}}, [] {
    Buffer buffer;
    buffer.nic_writes(kNic, 0, "data");
    EXPECT_TRUE(buffer.shows(0, "data"));
  });
}

TEST(DelayedVisibility, TakesAliasesAndIgnoresHostMemory) {
  in_fresh_process({{"EMUGPU_VISIBLE_AFTER_MS", kLong}}, [] {
    Buffer buffer;
    std::memcpy(buffer.alias, "data", 4);
    emugpu_nic_wrote(kNic, buffer.alias, 4);
    EXPECT_FALSE(buffer.shows(0, "data"));
    char local[] = "host";
    emugpu_nic_wrote(kNic, local, 4);
    EXPECT_STREQ(local, "host");
  });
}

TEST(DriverFlush, IsRefusedWithoutSupportContextOrByFault) {
  in_fresh_process({{"EMUGPU_FLUSH_OPTIONS", "0"}}, [] {
    EXPECT_EQ(driver_flush(), CUDA_ERROR_INVALID_CONTEXT);
    bind_device(0);
    EXPECT_EQ(driver_flush(), CUDA_ERROR_NOT_SUPPORTED);
  });
  in_fresh_process({{"EMUGPU_FAULTS", "flush@2"}}, [] {
    bind_device(0);
    EXPECT_EQ(driver_flush(), CUDA_SUCCESS);
    EXPECT_EQ(driver_flush(), CUDA_ERROR_NOT_SUPPORTED);
  });
}

}  // namespace
}  // namespace emugpu
