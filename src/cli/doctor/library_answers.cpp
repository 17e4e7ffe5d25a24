// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/library_answers.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "src/cli/doctor/text.h"
#include "src/fabric/library.h"

namespace fabrail::doctor {

namespace {

constexpr unsigned kPatienceS = 20;
// All bits of mr_mode but the two of before 1.5, FI_MR_BASIC and FI_MR_SCALABLE.
constexpr int kAnyModernRegistration = ~3;

/// What `speak` prints to the file, in a child that may hang or die.
template <class Speak>
std::string answer_of_child(Speak&& speak) {
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) return {};
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    ::alarm(kPatienceS);
    if (std::FILE* out = ::fdopen(ends[1], "w")) {
      speak(out);
      std::fclose(out);
    }
    ::_exit(0);  // nobody else's destructors
  }
  ::close(ends[1]);
  std::string answer;
  std::array<char, 4096> piece{};
  for (ssize_t got = 1; child > 0 && got > 0;) {
    got = ::read(ends[0], piece.data(), piece.size());
    if (got > 0) answer.append(piece.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  if (child > 0) ::waitpid(child, &status, 0);
  return answer;
}

/// A domain's name without what EFA's provider appends for the type of endpoint.
std::string nic_of(const char* domain) {
  const std::string_view name = domain != nullptr ? domain : "";
  return std::string(name.substr(0, name.rfind('-')));
}

int offer(const fabric::Library& library, std::uint64_t capabilities, const char* word,
          std::FILE* out) {
  const fabric::InfoPtr hints(library.dupinfo(nullptr), fabric::FreeInfo{&library});
  if (!hints) return -1;
  hints->caps = capabilities;
  hints->ep_attr->type = FI_EP_RDM;
  hints->mode = ~0ULL;
  hints->domain_attr->mr_mode = kAnyModernRegistration;
  hints->fabric_attr->prov_name = ::strdup("efa");  // fi_freeinfo frees it
  fi_info* found = nullptr;
  const std::uint32_t version = std::min<std::uint32_t>(library.version, FI_VERSION(2, 0));
  const int rc = library.getinfo(version, nullptr, nullptr, 0, hints.get(), &found);
  const fabric::InfoPtr all(found, fabric::FreeInfo{&library});
  for (const fi_info* info = found; info != nullptr; info = info->next) {
    fmt::print(out, "{} {}\n", word, nic_of(info->domain_attr->name));
  }
  return rc;
}

void speak_of_fabric(std::FILE* out) {
  const char* wanted = std::getenv("FABRAIL_LIBFABRIC");
  const auto library = fabric::open_library(wanted != nullptr ? wanted : "");
  if (!library.ok()) return;
  fmt::print(out, "version {}.{}\n", FI_MAJOR(library.value().version),
             FI_MINOR(library.value().version));
  const int rc = offer(library.value(), FI_MSG | FI_RMA, "nic", out);
  if (rc != 0) fmt::print(out, "error {}\n", fabric::error_text(library.value(), rc));
  std::fflush(out);
  offer(library.value(), FI_MSG | FI_RMA | FI_HMEM, "gpu", out);
  fmt::print(out, "end\n");
}

/// The few functions of NVML that tell of links.
struct Nvml {
  int (*init)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, void**) = nullptr;
  int (*link_state)(void*, unsigned, unsigned*) = nullptr;
  int (*link_errors)(void*, unsigned, unsigned, unsigned long long*) = nullptr;

  bool open() {
    void* handle = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return false;
    const auto find = [handle](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(handle, name));
      return function != nullptr;
    };
    return find(init, "nvmlInit_v2") && find(count, "nvmlDeviceGetCount_v2") &&
           find(device, "nvmlDeviceGetHandleByIndex_v2") &&
           find(link_state, "nvmlDeviceGetNvLinkState") &&
           find(link_errors, "nvmlDeviceGetNvLinkErrorCounter");
  }
};

constexpr unsigned kMostLinks = 18;
constexpr unsigned kErrorCounters = 2;  // replays and recoveries; single wrong checksums are mended

void speak_of_links(std::FILE* out) {
  Nvml nvml;
  unsigned gpus = 0;
  if (!nvml.open() || nvml.init() != 0 || nvml.count(&gpus) != 0) return;
  for (unsigned gpu = 0; gpu < gpus; ++gpu) {
    void* device = nullptr;
    if (nvml.device(gpu, &device) != 0) continue;
    NvLinks links{.gpu = gpu};
    for (unsigned link = 0; link < kMostLinks; ++link) {
      unsigned active = 0;
      if (nvml.link_state(device, link, &active) != 0) continue;
      ++links.links;
      links.active += active != 0 ? 1 : 0;
      for (unsigned counter = 0; counter < kErrorCounters; ++counter) {
        unsigned long long errors = 0;
        if (nvml.link_errors(device, link, counter, &errors) == 0) links.errors += errors;
      }
    }
    fmt::print(out, "gpu {} {} {} {}\n", links.gpu, links.links, links.active, links.errors);
  }
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  const auto place = std::lower_bound(names.begin(), names.end(), name);
  if (place == names.end() || *place != name) names.insert(place, name);
}

}  // namespace

std::string ask_libfabric() { return answer_of_child(speak_of_fabric); }

FabricOffer read_fabric_offer(std::string_view answer) {
  FabricOffer offer;
  for (const std::string& line : lines(std::string(answer))) {
    const std::size_t space = line.find(' ');
    const std::string word = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (word == "version") offer.version = rest;
    if (word == "error") offer.error = rest;
    if (word == "nic") add_once(offer.nics, rest);
    if (word == "gpu") add_once(offer.nics_with_gpu_memory, rest);
    if (word == "end") offer.answered = true;
  }
  return offer;
}

std::string ask_nvml() { return answer_of_child(speak_of_links); }

std::vector<NvLinks> read_nvlinks(std::string_view answer) {
  std::vector<NvLinks> all;
  for (const std::string& line : lines(std::string(answer))) {
    NvLinks one;
    unsigned long long errors = 0;
    if (std::sscanf(line.c_str(), "gpu %u %u %u %llu", &one.gpu, &one.links, &one.active,
                    &errors) != 4) {
      continue;
    }
    one.errors = errors;
    if (one.links != 0) all.push_back(one);
  }
  return all;
}

}  // namespace fabrail::doctor
