// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// libnccl-net-onlyvN.so: another plugin with all its ABI versions but one hidden, so that NCCL has
// to use its adapter from version N. The plugin's path comes in SINGLE_VERSION_OF.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "include/nccl_net_abi.h"

#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
#define TABLE JOIN(ncclNetPlugin_v, SINGLE_VERSION, )

extern "C" {
__attribute__((visibility("default"))) JOIN(nccl_net_v, SINGLE_VERSION, _t) TABLE{};
}

namespace {

// NCCL reads the name as soon as it has the symbol, so the table is complete before dlopen returns.
__attribute__((constructor)) void fill_table() {
  const char* path = std::getenv("SINGLE_VERSION_OF");
  void* plugin = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* table = plugin == nullptr ? nullptr : dlsym(plugin, TEXT(TABLE));
  if (table == nullptr) {
    std::fprintf(stderr, "libnccl-net-onlyv" TEXT(SINGLE_VERSION) ".so: nothing to wrap: %s\n",
                 dlerror());
    std::abort();
  }
  TABLE = *static_cast<decltype(TABLE)*>(table);
}

}  // namespace
