// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/gpu/functions.h"

#include <dlfcn.h>

namespace fabrail::gpu {

namespace {

// Finds functions, and keeps the name of the first that must be there and is not.
//
// The driver keeps old forms of a function under its plain name. cuGetProcAddress gives the form
// that a CUDA version knew; where it is missing, the exported symbol carries the form's number.
class Lookup {
 public:
  explicit Lookup(void* library)
      : library_(library), by_version_(symbol<ByVersion>("cuGetProcAddress")) {}

  template <typename Function>
  void operator()(Function& target, const char* name, int version, const char* exported) {
    target = reinterpret_cast<Function>(find(name, version, exported));
    if (target == nullptr && missing_ == nullptr) missing_ = name;
  }
  template <typename Function>
  void operator()(Function& target, const char* name, int version) {
    (*this)(target, name, version, name);
  }

  [[nodiscard]] void* find(const char* name, int version, const char* exported) const {
    void* found = nullptr;
    if (by_version_ != nullptr && by_version_(name, &found, version, 0) == cuda::kSuccess &&
        found != nullptr) {
      return found;
    }
    return dlsym(library_, exported);
  }
  template <typename Function>
  [[nodiscard]] Function symbol(const char* name) const {
    return reinterpret_cast<Function>(dlsym(library_, name));
  }
  [[nodiscard]] const char* missing() const { return missing_; }

 private:
  using ByVersion = cuda::Code (*)(const char* name, void** found, int version,
                                   std::uint64_t flags);
  void* library_;
  ByVersion by_version_;
  const char* missing_ = nullptr;
};

// Each with the CUDA version that brought the form in use.
void find_all(Lookup& find, Functions& f) {
  find(f.init, "cuInit", 2000);
  find(f.error_name, "cuGetErrorName", 6000);
  find(f.device_count, "cuDeviceGetCount", 2000);
  find(f.device_attribute, "cuDeviceGetAttribute", 2000);
  find(f.retain_primary, "cuDevicePrimaryCtxRetain", 7000);
  find(f.release_primary, "cuDevicePrimaryCtxRelease", 11000, "cuDevicePrimaryCtxRelease_v2");
  find(f.get_current, "cuCtxGetCurrent", 4000);
  find(f.push_current, "cuCtxPushCurrent", 4000, "cuCtxPushCurrent_v2");
  find(f.pop_current, "cuCtxPopCurrent", 4000, "cuCtxPopCurrent_v2");
  find(f.current_device, "cuCtxGetDevice", 2000);
  find(f.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", 10010);
  find(f.pointer_attributes, "cuPointerGetAttributes", 7000);
  find(f.retain_handle, "cuMemRetainAllocationHandle", 11000);
  find(f.release_handle, "cuMemRelease", 10020);
  find(f.allocate, "cuMemAlloc", 3020, "cuMemAlloc_v2");
  find(f.free, "cuMemFree", 3020, "cuMemFree_v2");
  find(f.flush_writes, "cuFlushGPUDirectRDMAWrites", 11030);
  constexpr const char* kExport = "cuMemGetHandleForAddressRange";
  if (f.version >= cuda::kOldestDriverDmabuf) find(f.get_handle, kExport, 11070);
}

std::string file_of(void* symbol, const std::string& fallback) {
  Dl_info info{};
  return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : fallback;
}

Error no_library(const std::string& reason) {
  return make_error(Code::kUnsupported, 0,
                    "there is no CUDA driver here (%s). If this machine has GPUs, install NVIDIA's "
                    "driver; in a container, start it with the driver's libraries (--gpus all)",
                    reason.c_str());
}

Error too_old(const Functions& functions) {
  return make_error(Code::kUnsupported, 0,
                    "the CUDA driver %s is of CUDA %s; NICs reach GPU memory from CUDA %s on. "
                    "Update NVIDIA's driver",
                    functions.path.c_str(), cuda_version_text(functions.version).c_str(),
                    cuda_version_text(cuda::kOldestDriver).c_str());
}

Error not_a_driver(const Functions& functions, const char* missing) {
  return make_error(Code::kUnsupported, 0,
                    "%s is no usable CUDA driver: it lacks %s. Is another library of that name in "
                    "LD_LIBRARY_PATH?",
                    functions.path.c_str(), missing);
}

}  // namespace

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Result<Functions> open_functions(const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return no_library(dlerror());
  Lookup find(library);
  Functions functions;
  functions.path = file;
  const auto version = find.symbol<cuda::Code (*)(int*)>("cuDriverGetVersion");
  if (version == nullptr) return not_a_driver(functions, "cuDriverGetVersion");
  functions.path = file_of(reinterpret_cast<void*>(version), file);
  if (version(&functions.version) != cuda::kSuccess)
    return not_a_driver(functions, "a version number");
  if (functions.version < cuda::kOldestDriver) return too_old(functions);
  find_all(find, functions);
  if (find.missing() != nullptr) return not_a_driver(functions, find.missing());
  return functions;
}

}  // namespace fabrail::gpu
