// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "tests/transport/two_engines.h"

#include <sched.h>

#include <array>

#include "src/transport/clock.h"

namespace fabrail::transport {

void TwoEngines::SetUp() {
  auto library = fabric::open_library("");
  if (!library.ok()) GTEST_SKIP() << library.error().detail;
  library_ = library.take();
  auto found = fabric::discover(
      library_, {.provider = "tcp", .fi_provider = {}, .nics = "lo", .device_rdma = {}});
  ASSERT_TRUE(found.ok());
  discovery_ = found.take();
  ASSERT_FALSE(discovery_.nics.empty());
}

std::unique_ptr<Engine> TwoEngines::open(std::size_t rails) {
  const std::vector<const fabric::Nic*> nics(rails, &discovery_.nics.front());
  auto engine = Engine::open(library_, nics, settings_, logger_, counters_);
  EXPECT_TRUE(engine.ok()) << engine.error().detail;
  return engine.take();
}

std::unique_ptr<Rail> TwoEngines::stranger() {
  auto rail = Rail::open(library_, discovery_.nics.front(), counters_);
  EXPECT_TRUE(rail.ok());
  return rail.take();
}

void TwoEngines::until(const std::function<bool()>& step) {
  constexpr std::int64_t kPatienceMs = 20000;
  const std::int64_t begin = now_ms();
  while (!step()) {
    ASSERT_LT(now_ms() - begin, kPatienceMs) << "no end in sight";
    sched_yield();
  }
}

Connection TwoEngines::connect(Engine& sender, Engine& receiver) {
  std::array<std::byte, kHandleBytes> handle;
  auto listener = receiver.listen(handle);
  EXPECT_TRUE(listener.ok());
  Connection connection;
  until([&] {
    if (connection.send == nullptr) {
      const auto connected = sender.connect(handle);
      EXPECT_TRUE(connected.ok()) << connected.error().detail;
      if (connected.ok()) connection.send = connected.value();
    }
    if (connection.recv == nullptr) {
      const auto accepted = receiver.accept(*listener.value());
      EXPECT_TRUE(accepted.ok()) << accepted.error().detail;
      if (accepted.ok()) connection.recv = accepted.value();
    }
    return HasFailure() || (connection.send != nullptr && connection.recv != nullptr);
  });
  receiver.close(*listener.value());
  return connection;
}

}  // namespace fabrail::transport
