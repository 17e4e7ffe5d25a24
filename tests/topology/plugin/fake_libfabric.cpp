// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// A libfabric that offers the NICs that FABRAIL_TEST_NICS lists, and can do nothing with them: what
// the plugin needs to plan its devices. FABRAIL_TEST_NICS=NAME@PCI@MBPS,...
#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

namespace {

// All of an fi_info in one piece, so that a copy is a copy of this.
struct Offer {
  fi_info info = {};
  fi_tx_attr tx = {};
  fi_rx_attr rx = {};
  fi_ep_attr ep = {};
  fi_domain_attr domain = {};
  fi_fabric_attr fabric = {};
  fid_nic nic = {};
  fi_bus_attr bus = {};
  fi_link_attr link = {};
};

char* copy_of(const char* text) { return text == nullptr ? nullptr : strdup(text); }

void connect_parts(Offer& offer, bool with_nic) {
  offer.info.next = nullptr;
  offer.info.tx_attr = &offer.tx;
  offer.info.rx_attr = &offer.rx;
  offer.info.ep_attr = &offer.ep;
  offer.info.domain_attr = &offer.domain;
  offer.info.fabric_attr = &offer.fabric;
  offer.info.nic = with_nic ? &offer.nic : nullptr;
  offer.nic.bus_attr = &offer.bus;
  offer.nic.link_attr = &offer.link;
  offer.domain.name = copy_of(offer.domain.name);
  offer.fabric.name = copy_of(offer.fabric.name);
  offer.fabric.prov_name = copy_of(offer.fabric.prov_name);
}

// `info` is the first member of an Offer, as all that leave here are.
Offer* offer_of(fi_info* info) { return reinterpret_cast<Offer*>(info); }

fi_info* make_offer(const std::string& name, const std::string& pci, std::size_t mbps) {
  Offer draft;
  std::string domain = name + "-rdm";
  const char* provider = std::getenv("FABRAIL_TEST_PROVIDER");
  std::string fabric = provider == nullptr ? "efa" : provider;
  draft.domain.name = domain.data();
  draft.fabric.name = draft.fabric.prov_name = fabric.data();
  draft.domain.cq_data_size = 4;
  draft.tx.inject_size = 32;
  draft.ep.type = FI_EP_RDM;
  draft.ep.max_msg_size = std::size_t{1} << 30;
  draft.bus.bus_type = FI_BUS_PCI;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
  std::sscanf(pci.c_str(), "0000:%x:%x.%x", &bus, &device, &function);
  draft.bus.attr.pci = {0, static_cast<std::uint8_t>(bus), static_cast<std::uint8_t>(device),
                        static_cast<std::uint8_t>(function)};
  draft.link.speed = mbps * 1000000;
  auto* offer = new Offer(draft);
  connect_parts(*offer, true);
  return &offer->info;
}

}  // namespace

extern "C" {

#define FR_FAKE __attribute__((visibility("default")))

FR_FAKE std::uint32_t fi_version() { return FI_VERSION(1, 17); }

FR_FAKE const char* fi_strerror(int) { return "refused by the test's libfabric"; }

FR_FAKE int fi_fabric(fi_fabric_attr*, fid_fabric**, void*) { return -FI_ENOSYS; }

FR_FAKE fi_info* fi_dupinfo(const fi_info* info) {
  auto* offer = new Offer;
  if (info != nullptr) *offer = *offer_of(const_cast<fi_info*>(info));
  connect_parts(*offer, info != nullptr && info->nic != nullptr);
  return &offer->info;
}

FR_FAKE void fi_freeinfo(fi_info* info) {
  while (info != nullptr) {
    fi_info* next = info->next;
    Offer* offer = offer_of(info);
    std::free(offer->domain.name);
    std::free(offer->fabric.name);
    std::free(offer->fabric.prov_name);
    delete offer;
    info = next;
  }
}

FR_FAKE int fi_getinfo(std::uint32_t, const char*, const char*, std::uint64_t, const fi_info*,
                       fi_info** offers) {
  const char* list = std::getenv("FABRAIL_TEST_NICS");
  std::istringstream stream(list == nullptr ? "" : list);
  *offers = nullptr;
  fi_info** end = offers;
  std::string name;
  std::string pci;
  std::string mbps;
  while (std::getline(stream, name, '@') && std::getline(stream, pci, '@') &&
         std::getline(stream, mbps, ',')) {
    *end = make_offer(name, pci, std::strtoul(mbps.c_str(), nullptr, 10));
    end = &(*end)->next;
  }
  return *offers == nullptr ? -FI_ENODATA : 0;
}

}  // extern "C"
