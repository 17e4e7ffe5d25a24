// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// All that the checks look at, read once from one System.
#pragma once

#include <optional>

#include "src/cli/doctor/hardware.h"
#include "src/cli/doctor/nccl_log.h"
#include "src/cli/doctor/running_job.h"
#include "src/cli/doctor/settings.h"
#include "src/cli/doctor/software.h"
#include "src/cli/doctor/system.h"
#include "topology/instance_types.h"

namespace fabrail::doctor {

struct Survey {
  System system;  ///< as the job sees it
  Settings settings;
  Hardware hardware;
  Software software;
  const topology::InstanceType* type =
      nullptr;                    ///< null: not an instance type with EFA that we know
  std::optional<RunningJob> job;  ///< with --pid
  std::optional<NcclLog> log;     ///< with --log

  /// Whether this machine has, or should have, EFA NICs. An image is looked at because it shall
  /// run on one.
  [[nodiscard]] bool expects_efa() const {
    return is_image() || type != nullptr || !hardware.efa_functions().empty();
  }
  /// Whether NICs can reach GPU memory on this type of instance.
  [[nodiscard]] bool type_has_gpudirect() const {
    return type != nullptr && type->gpudirect == topology::GpuDirect::kYes;
  }
  /// Whether they should do so here.
  [[nodiscard]] bool expects_gpudirect() const {
    return type_has_gpudirect() && !hardware.gpus().empty();
  }
  /// Whether this is the root folder of an image rather than a machine.
  [[nodiscard]] bool is_image() const { return !hardware.sysfs_visible; }
};

/// Reads everything that checks of a machine or an image need.
Survey survey(System system);

}  // namespace fabrail::doctor
