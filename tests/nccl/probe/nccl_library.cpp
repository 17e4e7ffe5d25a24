// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Opens libnccl.so.2 as any program would, then joins its load address with its symbol table.
#include "tests/nccl/probe/nccl_library.h"

#include <dlfcn.h>
#include <link.h>

#include "tests/nccl/probe/elf_symbols.h"

namespace fabrail::nccl_test {
namespace {

void* open_library(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw Unsupported(std::string("cannot load libnccl: ") + dlerror());
  return handle;
}

const link_map& map_of(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) throw Unsupported(dlerror());
  return *map;
}

}  // namespace

NcclLibrary::NcclLibrary(const std::string& path)
    : handle_(open_library(path)), base_(map_of(handle_).l_addr) {
  functions_ = read_function_symbols(map_of(handle_).l_name);
  if (functions_.empty()) throw Unsupported(path + " is stripped: its loader cannot be found");
  exported<int(int*)>("ncclGetVersion")(&version_);
}

std::string NcclLibrary::version_text() const {
  return std::to_string(version_ / 10000) + "." + std::to_string(version_ / 100 % 100) + "." +
         std::to_string(version_ % 100);
}

uintptr_t NcclLibrary::address_of(std::string_view prefix) const {
  const auto found = functions_.lower_bound(prefix);
  const bool matches = found != functions_.end() && found->first.starts_with(prefix);
  return matches ? base_ + found->second : 0;
}

uintptr_t NcclLibrary::exported_address(const char* name) const {
  void* symbol = dlsym(handle_, name);
  if (symbol == nullptr) throw Unsupported(std::string("this libnccl does not export ") + name);
  return reinterpret_cast<uintptr_t>(symbol);
}

}  // namespace fabrail::nccl_test
