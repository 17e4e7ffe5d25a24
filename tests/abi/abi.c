// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Compiles the public headers, and with them the assertions on every size and offset, in this
// language.
#include "include/fabrail_counters.h"
#include "include/nccl_net_abi.h"
