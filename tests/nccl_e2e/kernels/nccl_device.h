// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// NCCL's own description of what it hands to its kernels, from the source that is being built: no
// layout is written down here a second time. What differs between the known versions gets one name.
#pragma once

#include <collectives.h>
#include <device.h>

#include <cstdint>

#include "tests/sim/gpu/emugpu.h"

namespace emunccl {

#if NCCL_VERSION_CODE == NCCL_VERSION(2, 22, 3)

using Comm = ncclDevComm;
using CommAndChannels = ncclDevCommAndChannels;

/// Ranks of one process reach each other's buffers directly.
inline constexpr int kDirectFlags = NCCL_DIRECT_WRITE | NCCL_DIRECT_READ;
inline bool send_registered(const ncclDevWorkP2p& work) { return work.sendRegistered != 0; }
inline bool receive_registered(const ncclDevWorkP2p& work) { return work.recvRegistered != 0; }
inline bool peer_registered(const ncclDevWorkP2p&) { return false; }
inline bool peer_registered(const ncclDevWorkColl& work) { return work.regUsed != 0; }
inline bool net_registered(const ncclDevWorkColl&) { return false; }
inline bool one_rank_per_node(const ncclDevWorkColl&) { return false; }
/// A registered send is one step for the kernel, however long it is, and says no size.
inline constexpr bool kRegisteredSendIsOneStep = true;
/// The divisor of ncclAvg on integers, from the operation's argument.
inline std::uint64_t average_divisor(std::uint64_t argument) { return argument; }
inline bool average_is_signed(std::uint64_t, bool type_is_signed) { return type_is_signed; }

#elif NCCL_VERSION_CODE == NCCL_VERSION(2, 29, 7)

using Comm = ncclKernelComm;
using CommAndChannels = ncclKernelCommAndChannels;

// With buffers registered for it only, which peer_registered() tells.
inline constexpr int kDirectFlags = 0;
inline bool send_registered(const ncclDevWorkP2p& work) { return work.sendNetReg != 0; }
inline bool receive_registered(const ncclDevWorkP2p& work) { return work.recvNetReg != 0; }
inline bool peer_registered(const ncclDevWorkP2p& work) {
  return work.sendIpcReg != 0 || work.recvIpcReg != 0;
}
inline bool peer_registered(const ncclDevWorkColl& work) { return work.regUsed != 0; }
inline bool net_registered(const ncclDevWorkColl& work) { return work.netRegUsed != 0; }
inline bool one_rank_per_node(const ncclDevWorkColl& work) { return work.isOneRPN != 0; }
inline constexpr bool kRegisteredSendIsOneStep = false;
// One function serves both signs: the lowest bit of the argument tells.
inline std::uint64_t average_divisor(std::uint64_t argument) {
  return static_cast<std::uint32_t>(argument) >> 1;
}
inline bool average_is_signed(std::uint64_t argument, bool) { return (argument & 1) != 0; }

#else
#error "the emulated kernels know NCCL 2.22.3 and 2.29.7, not the version of this source"
#endif

/// Where a kernel touches what NCCL gave a device (or host) pointer to.
template <typename T>
T* reach(T* pointer) {
  return static_cast<T*>(emugpu_kernel_address(const_cast<std::remove_cv_t<T>*>(pointer)));
}
inline char* reach_bytes(void* pointer) {
  return static_cast<char*>(emugpu_kernel_address(pointer));
}

/// Ends the process: NCCL asked for something that the emulated kernels do not do.
[[noreturn]] void refuse(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace emunccl
