// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The page of counters that a process with the plugin loaded keeps, as other programs read it. When
// the environment variable FABRAIL_COUNTERS names a file, the plugin maps that file instead of
// private memory, so that `fabrail perf` and monitoring can read it while the job runs. C11 and
// C++20.
#pragma once

#include <stdint.h>

#define FABRAIL_COUNTERS_MAGIC 0x006c696172626166ull /* "fabrail", little endian */
#define FABRAIL_COUNTERS_VERSION 1u

/// The file holds this many blocks, one for each NCCL device that the process uses; a block without
/// the magic number is unused. Readers add up the blocks.
#define FABRAIL_COUNTERS_LANES 128

/// One NCCL device of a process. The plugin alone writes; every counter only grows. Readers take
/// each 64-bit word for itself: there is no consistent snapshot over several words.
typedef struct {
  uint64_t magic;    ///< FABRAIL_COUNTERS_MAGIC once the page is valid
  uint32_t version;  ///< FABRAIL_COUNTERS_VERSION
  uint32_t pid;
  uint64_t libfabric_posts;   ///< calls that handed an operation to libfabric (send, inject, write,
                              ///< read, recv)
  uint64_t libfabric_polls;   ///< calls of fi_cq_read
  uint64_t completions;       ///< completion entries taken from libfabric
  uint64_t queue_full;        ///< posts that libfabric refused with -FI_EAGAIN
  uint64_t control_messages;  ///< control messages sent (CTS, region, close ...)
  uint64_t control_bytes;     ///< their bytes
  uint64_t send_messages;     ///< isend requests started
  uint64_t send_bytes;        ///< their bytes
  uint64_t recv_messages;     ///< receives completed (a group of n counts n)
  uint64_t recv_bytes;        ///< their bytes
  uint64_t push_messages;     ///< sends that went by RDMA write into the receiver's buffer
  uint64_t pull_messages;     ///< sends that the receiver fetched by RDMA read
  uint64_t eager_messages;    ///< sends that went ahead of their receive
  uint64_t stripes;           ///< RDMA operations posted for payload
  uint64_t copied_bytes;      ///< payload bytes that the CPU copied
  uint64_t reserved[15];
} fabrail_counters_t;

#ifdef __cplusplus
static_assert(sizeof(fabrail_counters_t) == 256, "a page layout that others read");
#else
_Static_assert(sizeof(fabrail_counters_t) == 256, "a page layout that others read");
#endif
