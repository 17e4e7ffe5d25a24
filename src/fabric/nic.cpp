// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/fabric/nic.h"

#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "src/fabric/compat.h"

namespace fabrail::fabric {

namespace {

// What only a provider's name can tell. The order is the order of preference.
struct ProviderFacts {
  std::string_view name;
  bool automatic = true;  // taken without being named
  // The NIC checks each access; tcp checks at a message's start, shm not at all.
  bool enforces_keys = false;
  // A large write with data needs the target to answer, and answers are taken in order: a target
  // that dies first keeps back the completions of everybody else. A plain write needs no answer.
  bool data_writes_hang = false;
  // Its registrations cost nothing, and asked to serve one thread at a time per domain it saves
  // locks and, in tcp, two system calls a message.
  bool serial_domain = false;
  bool emulates_rdma = false;  // on some NICs, or in some versions
  // With FI_HMEM its NICs reach device memory themselves; others would copy with CUDA.
  bool reaches_devices = false;
  // It tells of failures that belong to no operation of ours (a NIC that is gone, a packet of its
  // own protocol) by event, and aborts the process if the endpoint has no event queue.
  bool reports_events = false;
  int gone_code = 0;  // of a failed operation: nobody has the target's queue pair any more
  // Both sides number the messages between them. Whoever forgets a peer and meets it again begins
  // anew, which the peer takes for something that cannot be; and one that is lost holds back all
  // that come after it, in libfabric 1.17 whatever order was asked for.
  bool numbers_messages = false;
  Segments segments = Segments::kNone;
  // Why its own datagram endpoints come after those that rxm makes of its connections.
  std::string_view flaw = {};
};
constexpr std::array kProviders = {
    ProviderFacts{.name = "efa",
                  .enforces_keys = true,
                  .emulates_rdma = true,
                  .reaches_devices = true,
                  .reports_events = true,
                  .gone_code = compat::kEfaBadDestination,
                  .numbers_messages = true,
                  .segments = Segments::kAfterAddress},
    ProviderFacts{.name = "verbs", .enforces_keys = true, .reaches_devices = true},
    // Seen in libfabric 2.1: a connection object that served another process before is taken for
    // that one's, and the connection in use is replaced, with what was sent on it.
    ProviderFacts{
        .name = "tcp",
        .serial_domain = true,
        .flaw = "it can lose messages of two processes that connect to each other at once"},
    ProviderFacts{.name = "shm",
                  .automatic = false,
                  .data_writes_hang = true,
                  .serial_domain = true,
                  .segments = Segments::kOurNames},
};
constexpr ProviderFacts kUnknownProvider{.name = {}, .automatic = false};

std::string core_name(std::string_view provider) {
  return std::string(provider.substr(0, provider.find(';')));
}

ProviderFacts facts_of(std::string_view provider) {
  const std::string core = core_name(provider);
  const auto* found = std::find_if(kProviders.begin(), kProviders.end(),
                                   [&](const ProviderFacts& facts) { return facts.name == core; });
  return found == kProviders.end() ? kUnknownProvider : *found;
}

ProviderCaps caps_of(const fi_info& info) {
  const int mode = info.domain_attr->mr_mode;
  ProviderCaps caps;
  caps.inject_bytes = info.tx_attr->inject_size;
  caps.immediate_bytes = info.domain_attr->cq_data_size;
  caps.max_message_bytes = info.ep_attr->max_msg_size;
  caps.local_registration = (mode & FI_MR_LOCAL) != 0;
  caps.virtual_addresses = (mode & FI_MR_VIRT_ADDR) != 0;
  caps.provider_keys = (mode & FI_MR_PROV_KEY) != 0;
  caps.endpoint_regions = (mode & FI_MR_ENDPOINT) != 0;
  const ProviderFacts facts = facts_of(info.fabric_attr->prov_name);
  caps.max_data_write_bytes = facts.data_writes_hang ? caps.inject_bytes : SIZE_MAX;
  caps.serial_domain = facts.serial_domain;
  caps.segments = facts.segments;
  caps.emulates_rdma = facts.emulates_rdma;
  caps.enforces_keys = facts.enforces_keys;
  caps.reports_events = facts.reports_events;
  caps.gone_code = facts.gone_code;
  caps.numbers_messages = facts.numbers_messages;
  // The fabric efa-direct leaves that to the NIC; and a counter would cost it its fastest queue.
  caps.resends_in_software =
      facts.numbers_messages && std::string_view(info.fabric_attr->name) != "efa-direct";
  caps.device_memory = facts.reaches_devices && (info.caps & FI_HMEM) != 0;
  return caps;
}

// EFA appends the endpoint's type to the device's name.
std::string nic_name(std::string domain) {
  constexpr std::string_view kSuffix = "-rdm";
  if (domain.size() > kSuffix.size() && domain.ends_with(kSuffix)) {
    domain.resize(domain.size() - kSuffix.size());
  }
  return domain;
}

std::string resolve_path(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) == nullptr ? std::string() : std::string(resolved);
}

void find_on_pci(const fi_info& info, Nic& nic) {
  if (info.nic != nullptr && info.nic->bus_attr != nullptr &&
      info.nic->bus_attr->bus_type == FI_BUS_PCI) {
    const fi_pci_attr& pci = info.nic->bus_attr->attr.pci;
    char address[32];
    std::snprintf(address, sizeof address, "%04x:%02x:%02x.%x", pci.domain_id, pci.bus_id,
                  pci.device_id, pci.function_id);
    nic.pci_address = address;
    nic.pci_path = resolve_path("/sys/bus/pci/devices/" + nic.pci_address);
    return;
  }
  const std::string device = "/sys/class/net/" + nic.name + "/device";
  if (!resolve_path(device + "/subsystem").ends_with("/bus/pci")) return;
  nic.pci_path = resolve_path(device);
  nic.pci_address = nic.pci_path.substr(nic.pci_path.rfind('/') + 1);
}

int speed_of(const fi_info& info, const std::string& name) {
  constexpr std::size_t kMega = 1000000;
  if (info.nic != nullptr && info.nic->link_attr != nullptr && info.nic->link_attr->speed > 0) {
    return static_cast<int>(info.nic->link_attr->speed / kMega);
  }
  int mbps = 0;
  std::ifstream("/sys/class/net/" + name + "/speed") >> mbps;
  return std::max(mbps, 0);
}

// The newest interface whose behaviour is known here. It brings dma-bufs, and lets EFA use the RDMA
// that its NICs have.
constexpr std::uint32_t kDeviceMemoryVersion = compat::kDmabufVersion;

InfoPtr make_hints(const Library& library, const std::string& provider, bool device_memory) {
  InfoPtr hints(library.dupinfo(nullptr), FreeInfo{&library});
  if (!hints) return hints;
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  if (device_memory) {
    hints->caps |= FI_HMEM;
    hints->domain_attr->mr_mode |= FI_MR_HMEM;
  }
  // One endpoint and its queue are used by one thread at a time (the engine's mutex); registration
  // is not.
  hints->domain_attr->threading = FI_THREAD_COMPLETION;
  hints->domain_attr->av_type = FI_AV_TABLE;
  if (!provider.empty()) hints->fabric_attr->prov_name = strdup(provider.c_str());
  return hints;
}

// Why an offer cannot be used; empty if it can.
std::string objection(const fi_info& info) {
  if (info.domain_attr->cq_data_size < sizeof(std::uint32_t)) {
    return "its completion data is narrower than 32 bits";
  }
  return {};
}

bool is_link_local(const fi_info& info) {
  return std::string_view(info.fabric_attr->name).starts_with("fe80:");
}

bool is_local_only(const std::string& name) { return name == "lo" || name.starts_with("docker"); }

// As libfabric 1.17 does it: not on EFA's first two generations unless the user says so.
bool reads_by_default(const fi_info& info, const std::string& said) {
  if (!said.empty()) return said != "0";
  const bool described = info.nic != nullptr && info.nic->device_attr != nullptr &&
                         info.nic->device_attr->device_id != nullptr;
  const std::string_view device = described ? info.nic->device_attr->device_id : "";
  return described && device != "0xefa0" && device != "0xefa1";
}

// What libfabric offers: without device memory, and with it where that was asked for.
struct Offers {
  InfoPtr plain;
  InfoPtr with_device_memory;
};

// The same NIC and interface with FI_HMEM, if there is one; else `offer` itself.
const fi_info& best_of(const Offers& offers, const fi_info& offer) {
  if (!facts_of(offer.fabric_attr->prov_name).reaches_devices) return offer;
  for (const fi_info* other = offers.with_device_memory.get(); other; other = other->next) {
    if (std::string_view(other->fabric_attr->prov_name) == offer.fabric_attr->prov_name &&
        std::string_view(other->fabric_attr->name) == offer.fabric_attr->name &&
        std::string_view(other->domain_attr->name) == offer.domain_attr->name)
      return *other;
  }
  return offer;
}

void append_nic(const Library& library, const fi_info& offer, const NicFilter& filter,
                std::vector<Nic>& nics) {
  const std::string name = nic_name(offer.domain_attr->name);
  const bool known =
      std::any_of(nics.begin(), nics.end(), [&](const Nic& nic) { return nic.name == name; });
  if (known || is_link_local(offer)) return;
  Nic nic;
  nic.info = InfoPtr(library.dupinfo(&offer), FreeInfo{&library});
  if (!nic.info) return;
  nic.name = name;
  nic.network = offer.fabric_attr->name;
  nic.provider = offer.fabric_attr->prov_name;
  find_on_pci(offer, nic);
  nic.speed_mbps = speed_of(offer, name);
  nic.caps = caps_of(offer);
  nic.reads_by_default = reads_by_default(offer, filter.device_rdma);
  nic.device_memory_wanted = filter.device_memory && facts_of(nic.provider).reaches_devices;
  if (nic.caps.serial_domain) nic.info->domain_attr->threading = FI_THREAD_DOMAIN;
  nics.push_back(std::move(nic));
}

// Loopback and container bridges only when nothing else is there, as NCCL does it.
void drop_local_only(std::vector<Nic>& nics) {
  const bool others = std::any_of(nics.begin(), nics.end(),
                                  [](const Nic& nic) { return !is_local_only(nic.name); });
  if (others) std::erase_if(nics, [](const Nic& nic) { return is_local_only(nic.name); });
}

std::vector<Nic> nics_of(const Library& library, const Offers& offers, const std::string& provider,
                         const NicFilter& filter) {
  std::vector<Nic> nics;
  for (const fi_info* offer = offers.plain.get(); offer != nullptr; offer = offer->next) {
    if (provider == offer->fabric_attr->prov_name && objection(*offer).empty())
      append_nic(library, best_of(offers, *offer), filter, nics);
  }
  if (filter.nics.empty()) {
    drop_local_only(nics);
  } else {
    std::erase_if(nics, [&](const Nic& nic) { return !nic_selected(filter.nics, nic.name); });
  }
  return nics;
}

std::vector<std::string> provider_names(const fi_info* offers) {
  std::vector<std::string> names;
  for (const fi_info* offer = offers; offer != nullptr; offer = offer->next) {
    const std::string name = offer->fabric_attr->prov_name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

// Names the provider's own endpoints where those that rxm makes are better.
bool is_flawed(const std::string& provider) {
  return provider == facts_of(provider).name && !facts_of(provider).flaw.empty();
}

// Position in the order of preference; libfabric's own order decides between equals.
std::pair<std::size_t, bool> preference(const std::string& provider) {
  const auto* begin = kProviders.begin();
  const auto* found = std::find_if(
      begin, kProviders.end(),
      [core = core_name(provider)](const ProviderFacts& facts) { return facts.name == core; });
  return {static_cast<std::size_t>(found - begin), is_flawed(provider)};
}

std::string why_passed_over(const std::string& provider, const std::string& taken) {
  std::string text = provider + ": " + taken + " is preferred";
  if (is_flawed(provider)) text.append(", ").append(facts_of(provider).flaw);
  return text;
}

void explain_absent(const std::vector<std::string>& offered, Discovery& discovery) {
  for (const ProviderFacts& facts : kProviders) {
    const bool seen = std::any_of(offered.begin(), offered.end(), [&](const std::string& name) {
      return core_name(name) == facts.name;
    });
    if (!seen)
      discovery.passed_over.push_back(std::string(facts.name) + ": libfabric offers no NIC for it");
  }
}

// libfabric applies FI_PROVIDER before it looks for what was asked for.
void explain_filter(const NicFilter& filter, Discovery& discovery) {
  if (!discovery.provider.empty() || filter.provider.empty() || filter.fi_provider.empty()) return;
  discovery.passed_over.push_back("FI_PROVIDER=" + filter.fi_provider +
                                  " also applies, and may leave nothing of FABRAIL_PROVIDER=" +
                                  filter.provider + ": unset one of them");
}

std::string first_objection(const fi_info* offers, const std::string& provider) {
  for (const fi_info* offer = offers; offer != nullptr; offer = offer->next) {
    if (provider == offer->fabric_attr->prov_name) return objection(*offer);
  }
  return {};
}

Discovery choose(const Library& library, const Offers& offers, const NicFilter& filter) {
  const bool named =
      !filter.provider.empty() || (!filter.fi_provider.empty() && filter.fi_provider[0] != '^');
  Discovery discovery;
  std::vector<std::string> offered = provider_names(offers.plain.get());
  std::stable_sort(offered.begin(), offered.end(), [](const std::string& a, const std::string& b) {
    return preference(a) < preference(b);
  });
  explain_absent(offered, discovery);
  for (const std::string& provider : offered) {
    if (!discovery.provider.empty()) {
      discovery.passed_over.push_back(why_passed_over(provider, discovery.provider));
    } else if (!named && !facts_of(provider).automatic) {
      discovery.passed_over.push_back(provider + ": used only when FABRAIL_PROVIDER names it");
    } else if (auto nics = nics_of(library, offers, provider, filter); !nics.empty()) {
      discovery.provider = provider;
      discovery.nics = std::move(nics);
    } else {
      const std::string why = first_objection(offers.plain.get(), provider);
      discovery.passed_over.push_back(provider + ": " +
                                      (why.empty() ? "FABRAIL_NICS leaves no NIC" : why));
    }
  }
  explain_filter(filter, discovery);
  return discovery;
}

}  // namespace

bool nic_selected(const std::string& list, const std::string& name) {
  const bool inverted = list.starts_with('^');
  std::string_view rest = std::string_view(list).substr(inverted ? 1 : 0);
  bool listed = false;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    listed = listed || (!item.empty() && name.starts_with(item));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
  }
  return listed != inverted;
}

namespace {

// Everything that fits the hints; null for nothing.
Result<InfoPtr> ask(const Library& library, const std::string& provider, std::uint32_t version,
                    bool device_memory) {
  const InfoPtr hints = make_hints(library, provider, device_memory);
  if (!hints)
    return make_error(Code::kSystem, FI_ENOMEM, "libfabric could not allocate its fi_info");
  fi_info* offers = nullptr;
  const int rc = library.getinfo(version, nullptr, nullptr, 0, hints.get(), &offers);
  if (rc != 0 && rc != -FI_ENODATA) {
    return make_error(Code::kSystem, -rc, "fi_getinfo failed: %s (%s)",
                      error_text(library, rc).c_str(), library.path.c_str());
  }
  return InfoPtr(rc == 0 ? offers : nullptr, FreeInfo{&library});
}

}  // namespace

Result<Discovery> discover(const Library& library, const NicFilter& filter) {
  const std::uint32_t version =
      filter.device_memory ? std::min(library.version, kDeviceMemoryVersion) : kOldestVersion;
  Offers offers;
  FR_TRY_ASSIGN(offers.plain, ask(library, filter.provider, version, false));
  if (filter.device_memory) {
    FR_TRY_ASSIGN(offers.with_device_memory, ask(library, filter.provider, version, true));
  }
  return choose(library, offers, filter);
}

}  // namespace fabrail::fabric
