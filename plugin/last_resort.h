// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The one way in which the plugin may end the process: FABRAIL_ABORT_ON_ERROR asks for it.
#pragma once

namespace fabrail::plugin {

/// Raises SIGABRT, the first time that it is called; returns if the process survives that.
void raise_abort();

}  // namespace fabrail::plugin
