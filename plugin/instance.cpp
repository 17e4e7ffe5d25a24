// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "plugin/instance.h"

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>

#include "plugin/dump_signal.h"
#include "plugin/fatal_settings.h"
#include "src/base/job_rank.h"
#include "src/base/version.h"
#include "src/fabric/efa_device.h"

namespace fabrail::plugin {

namespace {

// Names under which scripts in the field ask for a libfabric plugin.
constexpr std::array kNames = {"fabrail", "AWS Libfabric", "Libfabric", "OFI"};

// Holds an object that is constructed on first use and never destroyed.
template <typename T>
union Immortal {
  Immortal() : value() {}
  ~Immortal() {}  // NOLINT(modernize-use-equals-default): a defaulted one would be deleted
  T value;
};

// setenv() is not safe beside another thread's getenv(). NCCL and libfabric read their settings
// from the environment alone, so we write there, but only in the process's first init(): NCCL
// calls it from within ncclCommInitRank, and itself writes its configuration file's values there a
// moment before.
ProcessEnvironment process_environment() {
  return {.get = [](const char* name) { return std::getenv(name); },
          .set =
              [](const char* name, const char* value) {
                if (value == nullptr) {
                  unsetenv(name);
                } else {
                  setenv(name, value, 1);
                }
              }};
}

// Reading PCI takes tens of milliseconds, which only NICs with a place there are worth.
bool needs_tree(const std::vector<topology::Nic>& nics) {
  return std::any_of(nics.begin(), nics.end(),
                     [](const topology::Nic& nic) { return nic.pci.has_value(); });
}

topology::MachineSources sources_of(const Config& config) {
  return {.hwloc_xml = config.hwloc_xml};
}

}  // namespace

Instance& instance() {
  static Immortal<Instance> slot;
  return slot.value;
}

const char* net_name() {
  const char* wanted = std::getenv("NCCL_NET");
  for (const char* name : kNames) {
    if (wanted != nullptr && strcasecmp(wanted, name) == 0) return name;
  }
  return kNames.front();
}

void Instance::init(nccl_net_log_fn log, int abi) {
  logger_.set_sink(log);
  const MutexLock lock(mutex_);
  if (ready_) return renew_topology_path();
  ready_ = true;
  facts_.abi = abi;
  find_devices();
  try {
    learn_topology();
    announce();
    judge_requirements();
  } catch (const std::exception& error) {
    if (!config_.require.empty())
      refuse(make_error(Code::kSystem, 0, "FABRAIL_REQUIRE cannot be judged: %s", error.what()));
  }
}

void Instance::find_devices() {
  try {
    if (const Status status = set_up(); !status.ok())
      logger_.warn("no network device: %s", status.error().detail);
  } catch (const std::exception& error) {
    plans_.clear();
    gpu_plans_.clear();
    facts_.rails.clear();
    logger_.warn("no network device: %s", error.what());
  }
}

void Instance::read_config() {
  std::vector<std::string> complaints;
  config_ = parse_config([](const char* name) { return std::getenv(name); }, complaints);
  for (const std::string& complaint : complaints) logger_.warn("%s", complaint.c_str());
  aborts_on_error_ = config_.abort_on_error != 0;
}

Status Instance::set_up() {
  read_config();
  topology::Machine machine = config_.hwloc_xml.empty()
                                  ? topology::read_identity(sources_of(config_))
                                  : topology::read_machine(sources_of(config_));
  if (config_.tune_nccl != 0) {
    const auto detected = topology::detect_instance(machine.dmi, config_.instance);
    set_recommended(topology::find_instance_type(detected.name), Reader::kLibfabric,
                    process_environment(), logger_);
  }
  const bool shm_transfer_set = std::getenv(fabric::kShmTransferVariable) != nullptr;
  FR_TRY_ASSIGN(library_, fabric::open_library(config_.libfabric));
  if (!shm_transfer_set) {
    logger_.info("%s=0 set: EFA carries by the NIC what goes to this node, too",
                 fabric::kShmTransferVariable);
  }
  facts_.libfabric_path = library_.path;
  facts_.libfabric_major = static_cast<int>(FI_MAJOR(library_.version));
  facts_.libfabric_minor = static_cast<int>(FI_MINOR(library_.version));
  drop_fatal_settings();
  gpu_memory_.emplace(flush_wishes());
  const fabric::NicFilter filter{.provider = config_.provider,
                                 .fi_provider = config_.fi_provider,
                                 .nics = config_.nics,
                                 .device_rdma = config_.device_rdma,
                                 .device_memory = gpu_memory_->driver() != nullptr};
  FR_TRY_ASSIGN(auto discovery, fabric::discover(library_, filter));
  nics_ = std::move(discovery.nics);
  learn(discovery);
  plan(std::move(machine));
  engines_.resize(plans_.size());
  open_counters();
  open_state_page();
  return {};
}

void Instance::drop_fatal_settings() {
  const fabric::MachineAnswers machine{.reads_by_rdma = fabric::efa_reads_by_rdma,
                                       .fork_is_safe = fabric::fork_is_safe};
  remove_fatal_settings(library_.version, machine, process_environment(), logger_);
  if (std::getenv("FI_EFA_USE_DEVICE_RDMA") == nullptr) config_.device_rdma.clear();
}

void Instance::plan(topology::Machine machine) {
  const std::vector<topology::Nic> nics = topology_nics(nics_, sources_of(config_).sys);
  if (config_.hwloc_xml.empty() && needs_tree(nics)) {
    machine = topology::read_machine(sources_of(config_));
  }
  for (const std::string& complaint : machine.complaints) logger_.warn("%s", complaint.c_str());
  const topology::Plan plan = plan_topology(machine, nics, config_);
  plans_ = plan_devices(nics_, plan, config_.rails);
  facts_.instance = plan.instance_name;
  facts_.type = plan.instance;
  facts_.gpus = visible_gpus(machine);
  for (const DevicePlan& device : plans_) facts_.rails.push_back(device.rails.size());
  for (const std::string& decision : plan.decisions) logger_.info("%s", decision.c_str());
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    logger_.info("device %zu: %s", i, describe(plans_[i], plan.groups[i]).c_str());
  }
  plan_gpu_memory();
  learn_gpu_memory();
  decide_protocols();
  if (plans_.empty()) return;
  const bool allowed = config_.tune_nccl != 0;
  const ProcessEnvironment environment = process_environment();
  if (allowed && uses_efa(machine, nics)) {
    set_recommended(plan.instance, Reader::kNccl, environment, logger_);
  }
  topology_file_ = give_topology(
      {.machine = machine, .nics = nics, .plan = plan, .allowed = allowed}, environment, logger_);
}

FlushWishes Instance::flush_wishes() {
  const auto choice = parse_flush_choice(config_.flush);
  if (!choice) {
    logger_.warn("FABRAIL_FLUSH=%s is none of auto, none, driver, loopback; using auto",
                 config_.flush.c_str());
  }
  return {.choice = choice.value_or(gpu::FlushChoice::kAuto),
          .forced = !config_.nccl_force_flush.empty() && config_.nccl_force_flush != "0"};
}

// NICs are given GPU memory only where that was tried; whatever is found is said.
void Instance::plan_gpu_memory() {
  for (DevicePlan& device : plans_) {
    const GpuMemoryPlan& made = gpu_plans_.emplace_back(gpu_memory_->plan(library_, device.rails));
    device.ptr_support = pointer_support(made);
    device.force_flush = made.force_flush;
  }
  gpu_memory_->finish_planning();
  say_gpu_memory();
}

// For the whole process, as NCCL_PROTO is: of the device that promises least. Without a CUDA driver
// there is no NCCL to be told.
void Instance::decide_protocols() {
  if (gpu_memory_->driver() == nullptr || plans_.empty()) return;
  // Far from every GPU, NCCL itself leaves LL128 alone between nodes, unless it was told to use it;
  // within one it is safe.
  const bool near_gpus = std::any_of(plans_.begin(), plans_.end(),
                                     [](const DevicePlan& plan) { return !plan.pci_path.empty(); });
  const std::string& provider = nics_.front().provider;
  gpu::ProtocolInputs inputs{.device_memory = true,
                             .provider = provider,
                             .push = config_.pull != 2,
                             .keeps_128_bytes = true};
  for (const GpuMemoryPlan& plan : gpu_plans_) {
    inputs.device_memory = inputs.device_memory && !plan.paths.empty();
    inputs.push = inputs.push && (config_.pull == 0 || plan.writes);
    inputs.keeps_128_bytes = inputs.keeps_128_bytes && plan.keeps_128_bytes;
  }
  const gpu::ProtocolDecision decision = gpu::decide_protocols(inputs);
  if (provider != "efa" && !near_gpus) {
    check_protocols(decision, process_environment(), logger_);
    return;
  }
  learn_protocols(decision);
  advise_protocols(decision, config_.tune_nccl != 0, process_environment(), logger_);
}

void Instance::learn_topology() {
  const char* set = std::getenv(kTopologyVariable);
  if (set == nullptr) return;
  facts_.topology = std::string(set) + (topology_file_ ? " (made here)" : " (as was set)");
}

void Instance::renew_topology_path() {
  if (!topology_file_) return;
  const char* set = std::getenv(kTopologyVariable);
  if (set == nullptr || !topology::is_inherited_topology_path(set)) return;
  const std::string path = topology_file_->path();
  if (path != set) setenv(kTopologyVariable, path.c_str(), 1);
}

void Instance::open_counters() {
  auto page = observe::CounterPage::open(config_.counters);
  if (!page.ok()) {
    logger_.warn("%s", page.error().detail);
    page = observe::CounterPage::open({});
  }
  if (page.ok()) counters_ = page.take();
}

void Instance::open_state_page() {
  if (config_.dump_signal != 0) {
    const Status caught = catch_dump_signal(static_cast<int>(config_.dump_signal));
    if (!caught.ok()) logger_.warn("%s", caught.error().detail);
  }
  state_requests_.signals = &dump_signals();
  auto page = observe::StatePage::create();
  if (!page.ok()) return logger_.info("%s", page.error().detail);
  state_page_ = page.take();
  state_requests_.asked = &state_page_->asked();
  state_requests_.answer = [this](std::size_t device, std::uint32_t asked, std::string_view text) {
    state_page_->answer(device, asked, text);
  };
}

int Instance::devices() {
  const MutexLock lock(mutex_);
  const auto count = static_cast<int>(plans_.size());
  return refusal_ ? std::max(count, 2) : count;
}

Result<const DevicePlan*> Instance::device(int index) {
  const MutexLock lock(mutex_);
  const auto position = static_cast<std::size_t>(index);
  if (refusal_ && index > 0) return *refusal_;
  if (index < 0 || position >= plans_.size()) {
    return make_error(Code::kInvalidArgument, 0, "there is no device %d: this process has %zu",
                      index, plans_.size());
  }
  return &plans_[position];
}

void Instance::leave() noexcept {
  // A thread that holds the mutex now will never give it back.
  if (!mutex_.try_lock()) return;
  for (const auto& engine : engines_) {
    if (engine && owner_ == getpid()) engine->leave();
  }
  mutex_.unlock();
}

transport::EngineSettings Instance::engine_settings(std::size_t device) {
  constexpr std::int64_t kMilli = 1000;
  const GpuMemoryPlan& gpu = gpu_plans_[device];
  return {.eager_bytes = static_cast<std::uint32_t>(config_.eager_bytes),
          .min_stripe_bytes = static_cast<std::uint32_t>(config_.min_stripe_bytes),
          .connect_timeout_ms = config_.connect_timeout_s * kMilli,
          .probe_ms = config_.probe_s * kMilli,
          .timeout_ms = config_.timeout_s * kMilli,
          .stall_ms = config_.stall_s * kMilli,
          .pull = static_cast<transport::EngineSettings::Pull>(config_.pull),
          .device = {.driver = gpu.paths.empty() ? nullptr : gpu_memory_->driver(),
                     .paths = gpu.paths,
                     .flush = gpu.flush.method},
          .terms = {.version = version(),
                    .gpudirect = gpu.paths.empty() ? transport::Terms::GpuDirect::kNo
                                                   : transport::Terms::GpuDirect::kYes,
                    .protocols = protocols_},
          .must_agree = !config_.require.empty(),
          .state = &state_requests_,
          .number = device,
          .rank = job_rank([](const char* name) { return std::getenv(name); })};
}

Result<transport::Engine*> Instance::engine(int index) {
  const MutexLock lock(mutex_);
  const auto position = static_cast<std::size_t>(index);
  if (refusal_) return *refusal_;
  if (index < 0 || position >= plans_.size()) {
    return make_error(Code::kInvalidArgument, 0, "there is no device %d: this process has %zu",
                      index, plans_.size());
  }
  if (owner_ == 0) owner_ = getpid();
  if (owner_ != getpid()) {
    return make_error(Code::kUnsupported, 0,
                      "process %d was forked from %d after it had opened network devices: they "
                      "stay the parent's. "
                      "Start the process with exec (spawn) instead",
                      getpid(), owner_);
  }
  auto& engine = engines_[position];
  if (!engine) {
    if (!counters_) return make_error(Code::kSystem, ENOMEM, "no memory for counters");
    FR_TRY_ASSIGN(
        engine, transport::Engine::open(library_, plans_[position].rails, engine_settings(position),
                                        logger_, counters_->lane(position)));
    if (state_page_) state_page_->open_device(position);
  }
  return engine.get();
}

namespace {

__attribute__((destructor)) void leave_process() { instance().leave(); }

}  // namespace

}  // namespace fabrail::plugin
