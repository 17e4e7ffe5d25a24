// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Which rank of its job this process is: NCCL does not tell its plugins, what started the job does.
#pragma once

#include <functional>
#include <string>

namespace fabrail {

/// The rank that torchrun, mpirun or srun put into the environment, as text for people; empty if
/// none did.
///
/// `get`  gives a variable's value, null if it is not set.
std::string job_rank(const std::function<const char*(const char* name)>& get);

}  // namespace fabrail
