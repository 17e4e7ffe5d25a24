// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/base/job_rank.h"

#include <string_view>

namespace fabrail {

std::string job_rank(const std::function<const char*(const char* name)>& get) {
  constexpr std::size_t kMostDigits = 7;
  for (const char* name :
       {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* value = get(name);
    const std::string_view rank = value != nullptr ? value : "";
    const bool is_number = rank.find_first_not_of("0123456789") == std::string_view::npos;
    if (!rank.empty() && rank.size() <= kMostDigits && is_number) return std::string(rank);
  }
  return {};
}

}  // namespace fabrail
