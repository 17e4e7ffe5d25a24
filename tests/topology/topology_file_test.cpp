// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/topology_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace fabrail::topology {
namespace {

std::string contents(const std::string& path) {
  std::ifstream stream(path);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

TEST(TopologyFile, ReadsTheSameEachTimeItIsOpened) {
  auto file = TopologyFile::open("<system version=\"1\"/>\n");
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_EQ(contents(file.value().path()), "<system version=\"1\"/>\n");
  EXPECT_EQ(contents(file.value().path()), "<system version=\"1\"/>\n");
}

TEST(TopologyFile, CannotBeChanged) {
  auto file = TopologyFile::open("x");
  ASSERT_TRUE(file.ok());
  const int fd = open(file.value().path().c_str(), O_WRONLY);
  if (fd >= 0) {
    EXPECT_LT(write(fd, "y", 1), 0);
    close(fd);
  }
  EXPECT_EQ(contents(file.value().path()), "x");
}

TEST(TopologyFile, LivesAsLongAsItsOwner) {
  std::string path;
  {
    auto opened = TopologyFile::open("x");
    ASSERT_TRUE(opened.ok());
    const TopologyFile moved = opened.take();
    path = moved.path();
    EXPECT_EQ(contents(path), "x");
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(TopologyFile, IsReadByChildrenThatInheritThePathAlone) {
  auto file = TopologyFile::open("x");
  ASSERT_TRUE(file.ok());
  // Starts another program, in which our descriptors are closed.
  EXPECT_EQ(std::system(("test \"$(cat " + file.value().path() + ")\" = x").c_str()), 0);
}

TEST(InheritedTopologyPath, IsOursWhetherItStillNamesAFileOrNot) {
  auto file = TopologyFile::open("x");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(is_inherited_topology_path(file.value().path()));
  EXPECT_TRUE(is_inherited_topology_path("/proc/987654321/fd/987654"));
}

TEST(InheritedTopologyPath, IsNotWhatAUserChose) {
  for (const char* path : {"", "/etc/topo.xml", "/proc/self/fd/3", "/dev/fd/63", "/proc/1/fd/",
                           "/proc//fd/1", "/proc/1/fd/1x", "/proc/1"}) {
    EXPECT_FALSE(is_inherited_topology_path(path)) << path;
  }
}

}  // namespace
}  // namespace fabrail::topology
