// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What rdma-core knows of EFA NICs, for decisions that come before libfabric may be asked. Its
// libraries are opened at run time: they are there where libfabric's EFA provider is.
#pragma once

#include <optional>

namespace fabrail::fabric {

/// Whether the first EFA NIC (those of a machine are alike) can read by RDMA; nullopt if there is
/// no such NIC or it cannot be asked.
///
/// Source  efadv_query_device(3).
std::optional<bool> efa_reads_by_rdma();

/// Whether the kernel copies registered memory on fork(), so that nobody has to do anything about
/// it; nullopt if libibverbs is missing or too old to tell.
///
/// Source  ibv_is_fork_initialized(3).
std::optional<bool> fork_is_safe();

}  // namespace fabrail::fabric
