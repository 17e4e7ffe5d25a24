// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Which version of fabrail this is.
#pragma once

namespace fabrail {

/// "0.1.0", as the build says.
const char* version() noexcept;

}  // namespace fabrail
