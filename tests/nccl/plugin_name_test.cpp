// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What NCCL_NET_PLUGIN may look like, and from which release on each form finds the plugin.
#include <optional>

#include "tests/nccl/nccl_fixture.h"

namespace fabrail::nccl_test {
namespace {

constexpr int kPaths = 22100;  // 2.21 dlopens the value itself first
constexpr int kLists = 22700;
constexpr int kBrokenPaths = 22703;  // 2.27.3 takes only lib*.so verbatim

class PluginName : public NcclTest {
 protected:
  /// The network that NCCL takes with the plugin installed as `file` in the library path.
  std::string network_with(const std::string& file, const std::optional<std::string>& setting) {
    const std::filesystem::path link = scratch().path() / file;
    scratch().link(file, plugin().path);
    const ProbeResult result =
        run(setting ? Environment{{"NCCL_NET_PLUGIN", *setting}} : Environment{});
    std::filesystem::remove(link);
    EXPECT_EQ(result.exit_code, 0) << result.story();
    return result.exit_code == 0 ? result.cycle(0).at("network").get<std::string>() : "";
  }

  std::string plugin_if(bool found) const { return found ? network() : "Socket"; }
  std::string own_file() const { return "libnccl-net-" + plugin().id + ".so"; }
  bool takes_paths() const { return version() >= kPaths && version() != kBrokenPaths; }
};

TEST_P(PluginName, MayBeAShortName) { EXPECT_EQ(network_with(own_file(), plugin().id), network()); }

TEST_P(PluginName, MayBeLeftOutForLibncclNetSo) {
  EXPECT_EQ(network_with("libnccl-net.so", std::nullopt), network());
  EXPECT_EQ(network_with(own_file(), std::nullopt), "Socket");
}

TEST_P(PluginName, MayBeAnAbsolutePathSince221) {
  const std::string path = scratch().path() / "libfoo.so";
  EXPECT_EQ(network_with("libfoo.so", path), plugin_if(takes_paths()));
}

TEST_P(PluginName, MayBeARelativePathSince221) {
  EXPECT_EQ(network_with("libfoo.so", "./libfoo.so"), plugin_if(takes_paths()));
}

TEST_P(PluginName, MayBeAFileNameSince221) {
  EXPECT_EQ(network_with("libfoo.so", "libfoo.so"), plugin_if(version() >= kPaths));
  EXPECT_EQ(network_with("libfoo.so", "foo"), "Socket");
  EXPECT_EQ(network_with("libfoo.so", "libfoo"), "Socket");
}

TEST_P(PluginName, MayBeAListSince227) {
  EXPECT_EQ(network_with(own_file(), "missing," + plugin().id), plugin_if(version() >= kLists));
}

TEST_P(PluginName, MayBeNoneForNoPlugin) {
  // Before 2.28 it is the name of a plugin that does not exist, with the same effect.
  EXPECT_EQ(network_with("libnccl-net.so", "none"), "Socket");
}

TEST_P(PluginName, MeansNoPluginWhenEmptySince227) {
  EXPECT_EQ(network_with("libnccl-net.so", ""), plugin_if(version() < kLists));
}

INSTANTIATE_NCCL_TEST(PluginName, all_pairs());

}  // namespace
}  // namespace fabrail::nccl_test
