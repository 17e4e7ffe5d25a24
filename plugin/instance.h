// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The process's one plugin: settings, devices and their engines. It outlives NCCL's unloading of
// the library and is never destroyed: peers may still be fetching what was sent, and NCCL may come
// back.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugin/advice.h"
#include "plugin/decisions.h"
#include "plugin/device.h"
#include "plugin/gpu_memory.h"
#include "src/base/config.h"
#include "src/base/log.h"
#include "src/base/mutex.h"
#include "src/observe/counter_page.h"
#include "src/observe/state_page.h"
#include "src/transport/engine.h"

namespace fabrail::plugin {

/// Thread  any. Its mutex comes before every engine's and is taken only while connections are set
/// up, never on
///         the data path.
class Instance {
 public:
  /// Sets everything up the first time; later calls only take the new log callback. Never fails:
  /// what is wrong is logged and leaves no device, which every NCCL survives (several crash when
  /// init fails).
  void init(nccl_net_log_fn log, int abi) EXCLUDES(mutex_);

  /// Where FABRAIL_REQUIRE is not met there are at least two, see device().
  [[nodiscard]] int devices() EXCLUDES(mutex_);

  /// The plan of a device. Valid for the life of the process.
  ///
  /// Where FABRAIL_REQUIRE is not met, device 0 alone can be had: NCCL's loader looks at it, and
  /// would quietly take another network without it. Any further look is at all devices, from within
  /// ncclCommInitRank, and an error ends that in every version. (An error of init() does not, and
  /// crashes some.)
  /// Errors  kInvalidArgument: there is no such device. kInvalidUsage: FABRAIL_REQUIRE.
  Result<const DevicePlan*> device(int index) EXCLUDES(mutex_);

  /// The engine of a device, opened on first use.
  Result<transport::Engine*> engine(int index) EXCLUDES(mutex_);

  /// The process ends: see Engine::leave(). Does nothing in a child that fork() made of it.
  void leave() noexcept EXCLUDES(mutex_);

  [[nodiscard]] const Logger& logger() const { return logger_; }

  /// FABRAIL_ABORT_ON_ERROR.
  [[nodiscard]] bool aborts_on_error() const { return aborts_on_error_; }

 private:
  void find_devices() REQUIRES(mutex_);
  Status set_up() REQUIRES(mutex_);
  void read_config() REQUIRES(mutex_);
  /// Between the opening of libfabric, whose version matters, and its first look at variables.
  void drop_fatal_settings() REQUIRES(mutex_);
  void plan(topology::Machine machine) REQUIRES(mutex_);
  void plan_gpu_memory() REQUIRES(mutex_);
  void decide_protocols() REQUIRES(mutex_);
  FlushWishes flush_wishes() REQUIRES(mutex_);
  void learn_topology() REQUIRES(mutex_);
  void open_counters() REQUIRES(mutex_);
  void open_state_page() REQUIRES(mutex_);
  /// In a child that fork() made, the topology file of the parent is its own as well.
  void renew_topology_path() REQUIRES(mutex_);
  [[nodiscard]] transport::EngineSettings engine_settings(std::size_t device) REQUIRES(mutex_);

  // announce.cpp
  void learn(const fabric::Discovery& discovery) REQUIRES(mutex_);
  void learn_gpu_memory() REQUIRES(mutex_);
  void learn_protocols(const gpu::ProtocolDecision& decision) REQUIRES(mutex_);
  void say_gpu_memory() REQUIRES(mutex_);
  void announce() REQUIRES(mutex_);
  void judge_requirements() REQUIRES(mutex_);
  void refuse(const Error& reason) REQUIRES(mutex_);

  Logger logger_;
  std::atomic<bool> aborts_on_error_{false};  // asked by calls that take no mutex of ours
  Mutex mutex_;
  bool ready_ GUARDED_BY(mutex_) = false;
  pid_t owner_ GUARDED_BY(mutex_) = 0;  ///< the process that opened the engines
  Config config_ GUARDED_BY(mutex_);
  fabric::Library library_ GUARDED_BY(mutex_);
  Facts facts_ GUARDED_BY(mutex_);
  std::optional<observe::CounterPage> counters_ GUARDED_BY(mutex_);
  // The engines use both without our mutex: fixed once the first engine is open.
  std::optional<observe::StatePage> state_page_;
  transport::StateRequests state_requests_;
  std::vector<fabric::Nic> nics_ GUARDED_BY(mutex_);
  std::vector<DevicePlan> plans_ GUARDED_BY(mutex_);
  std::optional<GpuMemory> gpu_memory_ GUARDED_BY(mutex_);
  std::vector<GpuMemoryPlan> gpu_plans_ GUARDED_BY(mutex_);  ///< one for each of plans_
  std::uint8_t protocols_ GUARDED_BY(mutex_) = 0;            ///< transport::Terms; 0: not decided
  std::optional<Error> refusal_ GUARDED_BY(mutex_);          ///< FABRAIL_REQUIRE is not met
  std::optional<topology::TopologyFile> topology_file_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<transport::Engine>> engines_ GUARDED_BY(mutex_);
};

/// The one instance.
Instance& instance();

/// The name that NCCL is shown: "fabrail", or what NCCL_NET asks for if that is a name that this
/// plugin answers to. A string literal.
const char* net_name();

}  // namespace fabrail::plugin
