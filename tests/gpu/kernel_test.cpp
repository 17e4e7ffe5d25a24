// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What is read of the kernel, and the driver's absence: neither needs a GPU, emulated or not.
#include "src/gpu/kernel.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "src/gpu/driver.h"

namespace fabrail::gpu {
namespace {

namespace fs = std::filesystem;

class Root {
 public:
  Root() {
    std::string name = testing::TempDir() + "fabrail-root-XXXXXX";
    path_ = mkdtemp(name.data()) == nullptr ? "" : name;
    fs::create_directories(path_ / "proc/sys/kernel");
  }
  ~Root() { fs::remove_all(path_); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  void set_release(const char* release) const {
    std::ofstream(path_ / "proc/sys/kernel/osrelease") << release << "\n";
  }
  void load(const char* module) const { fs::create_directories(path_ / "sys/module" / module); }
  [[nodiscard]] KernelFacts read() const { return read_kernel_facts(path_.string()); }

 private:
  fs::path path_;
};

TEST(KernelFacts, KnowSinceWhenNicsTakeDmabufs) {
  const struct {
    const char* release;
    bool dmabuf;
  } rows[] = {{"5.11.0-aws", false},       {"5.12.0", true}, {"6.1.0-18-amd64", true},
              {"4.18.0-553.el8", false},   {"5.4.0", false}, {"10.0", true},
              {"what is this then", false}};
  for (const auto& row : rows) {
    const Root root;
    root.set_release(row.release);
    EXPECT_EQ(root.read().dmabuf, row.dmabuf) << row.release;
  }
}

TEST(KernelFacts, NameThePeerMemoryModule) {
  const Root root;
  EXPECT_EQ(root.read().peer_memory, "");
  root.load("nvidia_peermem");
  EXPECT_EQ(root.read().peer_memory, "nvidia_peermem");
  root.load("efa_nv_peermem");
  EXPECT_EQ(root.read().peer_memory, "efa_nv_peermem");
}

TEST(KernelFacts, ExpectNothingWhereNothingCanBeRead) {
  const KernelFacts facts = read_kernel_facts("/nonexistent");
  EXPECT_FALSE(facts.dmabuf);
  EXPECT_EQ(facts.peer_memory, "");
}

TEST(AbsentDriver, IsOneSentenceWithARemedy) {
  const auto driver = Driver::open("libfabrail-there-is-none.so.1");
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.error().code, Code::kUnsupported);
  const std::string text(driver.error().text());
  EXPECT_NE(text.find("no CUDA driver here (libfabrail-there-is-none.so.1: "), std::string::npos);
  EXPECT_NE(text.find("install NVIDIA's driver"), std::string::npos);
}

TEST(AbsentDriver, IsNotReplacedByAnotherLibrary) {
  const auto driver = Driver::open("libm.so.6");
  ASSERT_FALSE(driver.ok());
  const std::string text(driver.error().text());
  EXPECT_NE(text.find("libm.so.6 is no usable CUDA driver: it lacks cuDriverGetVersion"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace fabrail::gpu
