// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Functions of libraries that are opened at run time.
#pragma once

#include <dlfcn.h>

namespace fabrail::fabric {

/// Makes `target` the function `name` of an open library, null if there is none; says which.
///
/// `handle`  of dlopen; null: a library that could not be opened. Thread  any.
template <typename Function>
bool resolve(void* handle, const char* name, Function& target) {
  target = handle == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle, name));
  return target != nullptr;
}

}  // namespace fabrail::fabric
