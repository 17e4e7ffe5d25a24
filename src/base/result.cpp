// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/base/result.h"

#include <cstdarg>
#include <cstdio>

namespace fabrail {

Error make_error(Code code, int native, const char* format, ...) {
  Error error;
  error.code = code;
  error.native = native;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(error.detail, sizeof error.detail, format, arguments);
  va_end(arguments);
  return error;
}

}  // namespace fabrail
