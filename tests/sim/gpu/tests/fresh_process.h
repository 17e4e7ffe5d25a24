// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The emulated driver reads its environment once, so each test runs in a process of its own.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <utility>

#include "tests/sim/gpu/driver/cuda_public.h"

namespace emugpu {

using Environment = std::initializer_list<std::pair<const char*, const char*>>;

/// Runs `body` in a child with these settings; its failed expectations fail the calling test.
inline void in_fresh_process(Environment environment, const std::function<void()>& body) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (const auto& [name, value] : environment) setenv(name, value, 1);
    body();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "see the lines above";
}

/// Binds the primary context of a device to this thread.
inline void bind_device(int ordinal) {
  CUcontext context = nullptr;
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, ordinal), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
}

inline CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, bytes), CUDA_SUCCESS);
  return address;
}

/// Whether the CPU may read a byte there; finds out in another child.
inline bool readable(const void* address) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);  // sanitizers would print a report
    signal(SIGBUS, SIG_DFL);
    static_cast<void>(*static_cast<const volatile char*>(address));
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status);
}

}  // namespace emugpu
