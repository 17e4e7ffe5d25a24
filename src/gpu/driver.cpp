// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/gpu/driver.h"

#include <array>
#include <cstdio>

#include "src/gpu/context.h"

namespace fabrail::gpu {

namespace {

struct Advice {
  cuda::Code code;
  const char* text;
};
constexpr std::array kAdvice = {
    Advice{cuda::kInvalidValue,
           "the address is not, or no longer, mapped device memory of this process"},
    Advice{cuda::kNotInitialized, "CUDA has not been initialised in this process (after fork?)"},
    Advice{cuda::kDeinitialized, "CUDA is shutting down: communicators must be destroyed before"},
    Advice{cuda::kStubLibrary,
           "this is the toolkit's stub: take its folder (.../stubs) out of LD_LIBRARY_PATH"},
    Advice{cuda::kNoDevice,
           "no GPU is visible: look at CUDA_VISIBLE_DEVICES, nvidia-smi, and the container's GPUs"},
    Advice{cuda::kInvalidDevice, "there is no such device in this process"},
    Advice{cuda::kInvalidContext, "the device's context is gone (cudaDeviceReset?)"},
    Advice{cuda::kSystemNotReady, "start the fabric manager (nvidia-fabricmanager)"},
    Advice{cuda::kDriverMismatch,
           "the driver's library and kernel module differ: reboot, or update the container"},
    Advice{cuda::kUnknown, "look for Xid or NVRM lines in the kernel's log"},
};

const char* advice_on(cuda::Code code) {
  for (const Advice& advice : kAdvice) {
    if (advice.code == code) return advice.text;
  }
  return nullptr;
}

std::string pci_text(int domain, int bus, int device) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", static_cast<unsigned>(domain),
                static_cast<unsigned>(bus), static_cast<unsigned>(device));
  return text;
}

// Reads attributes of one device; the first failure stays.
class Attributes {
 public:
  Attributes(const Functions& functions, int device) : functions_(functions), device_(device) {}

  int operator()(cuda::DeviceAttribute attribute) {
    int value = 0;
    const cuda::Code code = functions_.device_attribute(&value, attribute, device_);
    if (code != cuda::kSuccess && code_ == cuda::kSuccess) code_ = code;
    return value;
  }
  [[nodiscard]] cuda::Code code() const { return code_; }

 private:
  const Functions& functions_;
  int device_;
  cuda::Code code_ = cuda::kSuccess;
};

}  // namespace

Error Driver::failure(const char* function, cuda::Code code, const std::string& purpose) const {
  const char* name = nullptr;
  if (functions_.error_name(code, &name) != cuda::kSuccess || name == nullptr)
    name = "unknown code";
  const char* advice = advice_on(code);
  return make_error(Code::kSystem, code, "%s failed with %d (%s) for %s%s%s", function, code, name,
                    purpose.c_str(), advice == nullptr ? "" : ": ",
                    advice == nullptr ? "" : advice);
}

Result<Driver> Driver::open(const std::string& file) {
  FR_TRY_ASSIGN(auto functions, open_functions(file));
  Driver driver(std::move(functions));
  const cuda::Code code = driver.functions_.init(0);
  if (code == cuda::kSuccess) return driver;
  Error error = driver.failure("cuInit", code, driver.path());
  error.code = Code::kUnsupported;
  return error;
}

Result<int> Driver::device_count() const {
  int count = 0;
  const cuda::Code code = functions_.device_count(&count);
  if (code != cuda::kSuccess) return failure("cuDeviceGetCount", code, "this process");
  return count;
}

std::optional<int> Driver::current_device() const {
  cuda::Context current = nullptr;
  int device = -1;
  if (functions_.get_current(&current) != cuda::kSuccess || current == nullptr) return std::nullopt;
  if (functions_.current_device(&device) != cuda::kSuccess) return std::nullopt;
  return device;
}

Result<DeviceFacts> Driver::device(int ordinal) const {
  using enum cuda::DeviceAttribute;
  Attributes get(functions_, ordinal);
  DeviceFacts facts;
  facts.ordinal = ordinal;
  facts.pci_address = pci_text(get(kPciDomain), get(kPciBus), get(kPciDevice));
  facts.compute_major = get(kComputeCapabilityMajor);
  facts.compute_minor = get(kComputeCapabilityMinor);
  facts.gpudirect = get(kGpuDirectSupported) != 0;
  facts.flush_by_host = (get(kFlushOptions) & cuda::kFlushByHost) != 0;
  facts.orders_writes = get(kWritesOrdering) >= cuda::kOrderedForOwner;
  // Drivers before CUDA 11.7 do not know the attribute.
  if (functions_.get_handle != nullptr) facts.dmabuf = get(kDmabufSupported) != 0;
  if (get.code() == cuda::kSuccess) return facts;
  return failure("cuDeviceGetAttribute", get.code(), "device " + std::to_string(ordinal));
}

Status Driver::flush(int device) const {
  FR_TRY_ASSIGN(const auto context, ContextScope::enter(*this, device));
  const cuda::Code code = functions_.flush_writes(cuda::kFlushCurrentContext, cuda::kFlushToOwner);
  if (code == cuda::kSuccess) return {};
  return failure("cuFlushGPUDirectRDMAWrites", code, "device " + std::to_string(device));
}

}  // namespace fabrail::gpu
