// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// libfabric, opened at run time.
#include "src/cli/perf/raw_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#include <cstdlib>
#include <cstring>

#include "src/cli/common/failure.h"

namespace fabrail::cli::perf {
namespace {

constexpr uint32_t kApiVersion = FI_VERSION(1, 17);

/// libfabric frees these strings with free().
char* copy_of(const std::string& text) {
  return text.empty() ? nullptr : strndup(text.c_str(), text.size());
}

void ask(fi_info& hints, const std::string& provider, const std::string& domain) {
  hints.caps = FI_MSG | FI_RMA;
  hints.mode = FI_CONTEXT | FI_CONTEXT2;
  hints.ep_attr->type = FI_EP_RDM;
  hints.domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints.domain_attr->threading = FI_THREAD_DOMAIN;
  hints.domain_attr->name = copy_of(domain);
  hints.fabric_attr->prov_name = copy_of(provider);
}

}  // namespace

// Never unloaded: the plugin uses the same library, and not every provider can be taken down.
RawLibrary::RawLibrary()
    : library_(dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), dlclose) {
  if (library_ == nullptr) {
    throw Failure(
        fmt::format("--raw cannot load libfabric: {}; install it, set LD_LIBRARY_PATH, or "
                    "leave --raw out",
                    dlerror()));
  }
  resolve(getinfo_, "fi_getinfo");
  resolve(freeinfo_, "fi_freeinfo");
  resolve(dupinfo_, "fi_dupinfo");
  resolve(fabric_, "fi_fabric");
}

template <class F>
void RawLibrary::resolve(F& function, const char* name) {
  // dlsym gives an object pointer; POSIX grants that it holds a function's address.
  void* symbol = dlsym(library_.get(), name);
  if (symbol == nullptr) throw Failure(fmt::format("libfabric.so.1 has no {}", name));
  std::memcpy(&function, &symbol, sizeof function);
}

RawLibrary::Info RawLibrary::find(const std::string& provider, const std::string& domain) const {
  Info hints(dupinfo_(nullptr), freeinfo_);
  if (hints == nullptr) throw Failure("libfabric gives no memory for hints");
  ask(*hints, provider, domain);
  fi_info* list = nullptr;
  const int code = getinfo_(kApiVersion, nullptr, nullptr, 0, hints.get(), &list);
  if (code == -FI_ENODATA) return {nullptr, freeinfo_};
  if (code != 0) throw Failure(raw_error("fi_getinfo", code));
  return {list, freeinfo_};
}

fid_fabric* RawLibrary::open_fabric(const fi_info& info) const {
  fid_fabric* fabric = nullptr;
  const int code = fabric_(info.fabric_attr, &fabric, nullptr);
  if (code != 0) throw Failure(raw_error("fi_fabric", code));
  return fabric;
}

std::string raw_error(const char* call, ssize_t code) {
  return fmt::format(
      "--raw: {} failed with {} ({}); try another provider (FABRAIL_PROVIDER) or "
      "--raw-domain, or leave --raw out",
      call, code, std::strerror(static_cast<int>(-code)));
}

}  // namespace fabrail::cli::perf
