// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/fabric/library.h"

#include <dlfcn.h>
#include <rdma/fi_errno.h>
#include <signal.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "src/fabric/symbol.h"

namespace fabrail::fabric {

namespace {

constexpr std::array kDefaultFiles = {"libfabric.so.1", "/opt/amazon/efa/lib64/libfabric.so.1",
                                      "/opt/amazon/efa/lib/libfabric.so.1"};

std::string version_text(std::uint32_t version) {
  return std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version));
}

std::string file_of(const void* symbol, const char* fallback) {
  Dl_info info{};
  return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : fallback;
}

// Libraries below libfabric (PSM's) install signal handlers when they are loaded, with which a job
// that is told to stop exits as if it had failed. The job's own dispositions come back when this
// goes.
class SignalDispositions {
 public:
  SignalDispositions() {
    for (int number = 1; number < NSIG; ++number)
      known_[index(number)] = sigaction(number, nullptr, &before_[index(number)]) == 0;
  }
  ~SignalDispositions() {
    for (int number = 1; number < NSIG; ++number) {
      if (known_[index(number)]) sigaction(number, &before_[index(number)], nullptr);
    }
  }
  SignalDispositions(const SignalDispositions&) = delete;
  SignalDispositions& operator=(const SignalDispositions&) = delete;

 private:
  static std::size_t index(int number) { return static_cast<std::size_t>(number); }
  std::array<struct sigaction, NSIG> before_{};
  std::array<bool, NSIG> known_{};
};

void* load(const char* file) {
  const SignalDispositions kept;
  return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

// Fills `library`, or says in one clause why this file will not do.
std::string try_file(const char* file, Library& library) {
  void* handle = load(file);
  if (handle == nullptr) return dlerror();
  decltype(&fi_version) version = nullptr;
  const bool complete = resolve(handle, "fi_getinfo", library.getinfo) &&
                        resolve(handle, "fi_freeinfo", library.freeinfo) &&
                        resolve(handle, "fi_dupinfo", library.dupinfo) &&
                        resolve(handle, "fi_fabric", library.fabric) &&
                        resolve(handle, "fi_strerror", library.strerror) &&
                        resolve(handle, "fi_version", version);
  if (!complete) return std::string(file) + ": not a libfabric (functions are missing)";
  library.path = file_of(reinterpret_cast<const void*>(library.getinfo), file);
  library.version = version();
  if (library.version >= kOldestVersion) return {};
  return library.path + ": libfabric " + version_text(library.version) + " is too old, " +
         version_text(kOldestVersion) + " is the oldest that works";
}

}  // namespace

Result<Library> open_library(const std::string& wanted) {
  setenv(kShmTransferVariable, "0", /*overwrite=*/0);
  const std::vector<const char*> files =
      wanted.empty() ? std::vector<const char*>(kDefaultFiles.begin(), kDefaultFiles.end())
                     : std::vector<const char*>{wanted.c_str()};
  std::string refusals;
  for (const char* file : files) {
    Library library;
    const std::string refusal = try_file(file, library);
    if (refusal.empty()) return library;
    refusals += (refusals.empty() ? "" : "; ") + refusal;
  }
  return make_error(
      Code::kUnsupported, 0,
      "libfabric cannot be used (%s). Install libfabric 1.17 or newer, put its folder into "
      "LD_LIBRARY_PATH, or name the file in FABRAIL_LIBFABRIC",
      refusals.c_str());
}

std::string error_text(const Library& library, std::int64_t code) {
  return library.strerror(static_cast<int>(code < 0 ? -code : code));
}

}  // namespace fabrail::fabric
