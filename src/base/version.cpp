// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/base/version.h"

namespace fabrail {

const char* version() noexcept { return FABRAIL_VERSION; }

}  // namespace fabrail
