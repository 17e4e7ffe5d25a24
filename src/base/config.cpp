// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/base/config.h"

#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace fabrail {

namespace {

constexpr std::int64_t kDay = 86400;

constexpr std::array kParams = {
    Param{&Config::provider, "FABRAIL_PROVIDER",
          "libfabric provider to use: `efa`, `verbs;ofi_rxm`, `tcp`, `shm` or any other with "
          "reliable "
          "datagrams and RMA. Unset, the first of efa, verbs and tcp that has a usable NIC is "
          "taken; shm only when "
          "it is named here. If the named provider has none, the plugin reports no device instead "
          "of taking "
          "another.",
          ""},
    Param{&Config::nics, "FABRAIL_NICS",
          "NICs to use: a comma-separated list of libfabric domain names or their beginnings "
          "(`rdmap79s0,rdmap80s0`, `eth`, `lo`). With a leading `^` the NICs to leave out. Unset, "
          "every NIC "
          "except loopback, and loopback if there is nothing else.",
          ""},
    Param{&Config::rails, "FABRAIL_RAILS",
          "Rails of each NCCL device. 0: one for each of its NICs. With more rails than NICs, "
          "NICs are used several times over, which lets striping be tried on any machine; with "
          "fewer, the first "
          "NICs are used and the others idle. Ranks may differ: two peers use the smaller number.",
          "", 0, 32},
    Param{&Config::max_rails, "FABRAIL_MAX_RAILS",
          "Largest number of NICs of one NCCL device: where more stand together, they become "
          "several devices, and none of them idles. 0: no limit but the 32 rails that a device can "
          "have. Must be the same on all ranks, or their devices differ in number. FABRAIL_RAILS "
          "applies to the devices that result.",
          "", 0, 32},
    Param{&Config::instance, "FABRAIL_INSTANCE",
          "EC2 instance type (`p5.48xlarge`) to go by, instead of the one that DMI names.", ""},
    Param{&Config::require, "FABRAIL_REQUIRE",
          "What must be so, or the job fails at start with the reason, instead of running slowly: "
          "any of `efa`, `nics=N`, `rails=N` (of each device), `libfabric>=MAJOR.MINOR`, `gdr`, "
          "`dmabuf`, `instance` (all that this instance type can do), with commas between. "
          "Differences between peers are errors then, too. See docs/decisions.md.",
          ""},
    Param{&Config::tune_nccl, "FABRAIL_TUNE_NCCL",
          "1: variables of NCCL and libfabric that the instance type runs best with are set where "
          "nobody has set them, and NCCL gets a topology file where its own detection would plan "
          "wrongly and NCCL_TOPO_FILE is not set. Each is said in the log (INFO). 0: the "
          "environment is left alone.",
          "", 0, 1},
    Param{&Config::eager_bytes, "FABRAIL_EAGER_BYTES",
          "Largest message that may leave before its receive has been announced; it lands in a "
          "bounce buffer and is copied once more. 0 turns this off.",
          "bytes", 0, 8192},
    Param{&Config::min_stripe_bytes, "FABRAIL_MIN_STRIPE_BYTES",
          "A message is spread over the rails in stripes of at least this size (and a multiple of "
          "128 bytes).",
          "bytes", 128, 1 << 30},
    Param{&Config::pull, "FABRAIL_PULL",
          "Large messages are read by their receiver instead of written by their sender. 0: never; "
          "1: where the sender's NIC or libfabric cannot write by itself and the receiver's can "
          "read (EFA of p4d, libfabric before 1.18); 2: always.",
          "", 0, 2},
    Param{&Config::flush, "FABRAIL_FLUSH",
          "How what NICs wrote to GPU memory is made visible to its kernels when NCCL asks for "
          "that: `driver` (cuFlushGPUDirectRDMAWrites), `loopback` (a read by every NIC that "
          "wrote) or `none`. Unset or `auto`: what GPU and NIC can do, see docs/gpu-memory.md. "
          "`driver` and `loopback` also make NCCL ask where it would not (NCCL 2.24 or newer).",
          ""},
    Param{&Config::connect_timeout_s, "FABRAIL_CONNECT_TIMEOUT_S",
          "A connection that is not established after this long ends with an error that names "
          "the peer. 0: never.",
          "seconds", 0, kDay},
    Param{&Config::probe_s, "FABRAIL_PROBE_S",
          "When a communicator waits for its peer and has heard nothing for this long, the peer is "
          "probed; a probe that fails is an error, a peer that is only slow is not. 0: never.",
          "seconds", 0, kDay},
    Param{&Config::timeout_s, "FABRAIL_TIMEOUT_S",
          "A request that makes no progress for this long is an error even if the peer seems to "
          "live. 0: never, a slow or stopped peer is waited for.",
          "seconds", 0, kDay},
    Param{&Config::stall_s, "FABRAIL_STALL_S",
          "A connection or communicator on which nothing has moved for this long while NCCL waits "
          "for it is reported (WARN): with which peer, and what it waits for. Reported again after "
          "twice that time, four times, and so on. Nothing fails because of it. 0: never.",
          "seconds", 0, kDay},
    Param{&Config::dump_signal, "FABRAIL_DUMP_SIGNAL",
          "Signal on which the state of every communicator is written to NCCL's log (WARN) from "
          "NCCL's next call: 12 is SIGUSR2, 10 SIGUSR1, 34 to 64 real-time signals. Installed only "
          "if nothing in the process handles that signal. 0: none. `fabrail stalls PID` shows the "
          "same without a signal.",
          "", 0, 64},
    Param{
        &Config::abort_on_error, "FABRAIL_ABORT_ON_ERROR",
        "1: the first error of an established communicator is logged and then raises SIGABRT, for "
        "programs that never ask NCCL for asynchronous errors and would hang. 0: the error goes "
        "to NCCL alone.",
        "", 0, 1},
    Param{&Config::libfabric, "FABRAIL_LIBFABRIC",
          "Path or name of the libfabric to open. Unset: `libfabric.so.1` as the loader finds it, "
          "then the "
          "EFA installer's `/opt/amazon/efa`.",
          ""},
    Param{&Config::counters, "FABRAIL_COUNTERS",
          "File to keep this process's counters in, readable by others while it runs "
          "(layout: include/fabrail_counters.h). `%p` in it stands for the process number.",
          ""},
    Param{&Config::fi_provider, "FI_PROVIDER",
          "libfabric's own filter; honoured where FABRAIL_PROVIDER is not set.", ""},
    Param{&Config::device_rdma, "FI_EFA_USE_DEVICE_RDMA",
          "libfabric's own switch. Before 1.22 libfabric does not say whether it reads by RDMA: "
          "then this, or its default for the NIC's generation, decides. Ignored where libfabric "
          "would end the process for it (the NIC cannot).",
          ""},
    Param{&Config::nccl_net, "NCCL_NET",
          "If it names one of `fabrail`, `AWS Libfabric`, `Libfabric` or `OFI` (in any case), the "
          "plugin presents itself to NCCL under that name, so that settings written for other "
          "plugins keep working.",
          ""},
    Param{&Config::nccl_force_flush, "NCCL_NET_FORCE_FLUSH",
          "NCCL's own: 1 makes it ask for flushes on every GPU, and the plugin promise GPU memory "
          "only where one works.",
          ""},
    Param{&Config::hwloc_xml, "HWLOC_XMLFILE",
          "hwloc's own: a file that describes the machine, taken instead of looking at this one. "
          "A file that hwloc does not accept is reported (hwloc by itself says nothing).",
          ""},
};

std::optional<std::int64_t> parse_integer(const char* text, const Param& param) {
  std::int64_t value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || stop != end || text == end) return std::nullopt;
  if (value < param.min || value > param.max) return std::nullopt;
  return value;
}

std::string complaint(const Param& param, const char* text, std::int64_t kept) {
  return std::string(param.name) + "=" + std::string(text, strnlen(text, 64)) +
         " is not a whole number from " + std::to_string(param.min) + " to " +
         std::to_string(param.max) + "; using " + std::to_string(kept);
}

}  // namespace

std::span<const Param> params() { return kParams; }

Config parse_config(const Environment& environment, std::vector<std::string>& complaints) {
  Config config;
  for (const Param& param : kParams) {
    const char* text = environment(param.name);
    if (text == nullptr) continue;
    if (const auto* field = std::get_if<std::string Config::*>(&param.field)) {
      config.*(*field) = text;
      continue;
    }
    std::int64_t& target = config.*std::get<std::int64_t Config::*>(param.field);
    if (const auto value = parse_integer(text, param)) {
      target = *value;
    } else {
      complaints.push_back(complaint(param, text, target));
    }
  }
  return config;
}

std::string to_text(const Param& param, const Config& config) {
  if (const auto* field = std::get_if<std::string Config::*>(&param.field)) return config.*(*field);
  return std::to_string(config.*std::get<std::int64_t Config::*>(param.field));
}

std::string config_markdown() {
  std::string text =
      "# Environment variables\n\n"
      "Generated from the table that parses them (`src/base/config.cpp`) by `fabrail env "
      "--markdown`; do not\n"
      "edit. A value that cannot be used is reported in NCCL's log and the default stays.\n\n"
      "| variable | default | range | meaning |\n|---|---|---|---|\n";
  const Config defaults;
  for (const Param& param : kParams) {
    const bool number = std::holds_alternative<std::int64_t Config::*>(param.field);
    const std::string value = to_text(param, defaults);
    text += "| `" + std::string(param.name) + "` | " + (number ? value : "unset") + " | ";
    if (number) text += std::to_string(param.min) + " … " + std::to_string(param.max);
    if (param.unit[0] != '\0') text += std::string(" ") + param.unit;
    text += " | " + std::string(param.summary) + " |\n";
  }
  return text;
}

}  // namespace fabrail
