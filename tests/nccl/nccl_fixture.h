// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The fixture behind the loader tests: one real NCCL, one plugin, one scratch directory.
#pragma once

#include <gtest/gtest.h>

#include "tests/nccl/probe/comm_layout.h"
#include "tests/nccl/probe_run.h"

namespace fabrail::nccl_test {

class NcclTest : public testing::TestWithParam<Pair> {
 protected:
  void SetUp() override {
    const ProbeResult result = run_probe(library(), Scratch(), {}, {"--cycles", "0"});
    if (result.exit_code == 77) GTEST_SKIP() << result.errors;
    ASSERT_EQ(result.exit_code, 0) << result.story();
    version_ = result.report.at("version");
  }

  const Library& library() const { return GetParam().library; }
  const Plugin& plugin() const { return GetParam().plugin; }
  const std::string& network() const { return plugin().network; }
  /// The release, as 22809 for 2.28.9.
  int version() const { return version_; }
  Scratch& scratch() { return scratch_; }

  /// Runs with the plugin able to find devices; `environment` wins over that.
  ProbeResult run(Environment environment, const std::vector<std::string>& arguments = {}) {
    environment.merge(Environment(plugin().enabled));
    return run_probe(library(), scratch_, environment, arguments);
  }

  /// Installs the plugin as libnccl-net-<id>.so and runs with NCCL_NET_PLUGIN=<id>.
  ProbeResult run_by_name(Environment environment, const std::vector<std::string>& arguments = {}) {
    const std::string file = "libnccl-net-" + plugin().id + ".so";
    if (!exists(scratch_.path() / file)) scratch_.link(file, plugin().path);
    environment["NCCL_NET_PLUGIN"] = plugin().id;
    return run(std::move(environment), arguments);
  }

  /// Runs with all of the plugin's ABI versions hidden but one.
  ProbeResult run_single_version(int abi, Environment environment,
                                 const std::vector<std::string>& arguments = {}) {
    const std::string name = "onlyv" + std::to_string(abi);
    const std::string file = "libnccl-net-" + name + ".so";
    if (!exists(scratch_.path() / file)) {
      scratch_.link(file, std::filesystem::path(FABRAIL_CONTROL_DIR) / file);
    }
    environment["NCCL_NET_PLUGIN"] = name;
    environment["SINGLE_VERSION_OF"] = plugin().path;
    return run(std::move(environment), arguments);
  }

  /// These releases leave the context of a network that they turned down in the communicator, and
  /// finalize the next one with it: internal IB, when it is off or has no libibverbs, free()s it.
  bool frees_stale_context() const { return version_ >= 22807 && version_ <= 22903; }

  int newest_abi() const { return native_abi(version_); }

 private:
  Scratch scratch_;
  int version_ = 0;
};

/// For test names: 2_28_9_stub.
inline std::string pair_name(const testing::TestParamInfo<Pair>& info) {
  return info.param.library.id + "_" + info.param.plugin.id;
}

/// `pairs` may be empty: a machine without any libnccl (Nccl.IsThereToTestWith says so).
#define INSTANTIATE_NCCL_TEST(fixture, pairs)             \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(fixture); \
  INSTANTIATE_TEST_SUITE_P(Real, fixture, testing::ValuesIn(pairs), pair_name)

}  // namespace fabrail::nccl_test
