// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Marks the functions that the emulated libraries export.
#pragma once

#include <infiniband/verbs.h>

// verbs.h wraps these in macros for the callers' side.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define FR_SIM_EXPORT extern "C" __attribute__((visibility("default")))
