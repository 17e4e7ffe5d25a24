// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Counts the occasions on which a fault could strike, so that a test can let a probe pass and make
// what follows fail.
#include "tests/sim/gpu/driver/faults.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "src/base/mutex.h"
#include "tests/sim/gpu/driver/log.h"
#include "tests/sim/gpu/emugpu.h"

namespace emugpu {
namespace {

constexpr std::string_view kNames[] = {"init", "context", "export", "register", "flush"};
constexpr std::size_t kCount = std::size(kNames);

struct Plan {
  unsigned from = 0;  ///< first occasion that fails, counted from 1; 0: never
  unsigned seen = 0;
};
using Plans = std::array<Plan, kCount>;

struct State {
  fabrail::Mutex mutex;
  Plans plans GUARDED_BY(mutex);
};

bool parse_item(std::string_view item, Plans* plans) {
  const std::string_view name = item.substr(0, item.find('@'));
  unsigned from = 1;
  if (name.size() < item.size()) {
    const char* digits = item.data() + name.size() + 1;
    const char* end = item.data() + item.size();
    const auto [stop, error] = std::from_chars(digits, end, from);
    if (error != std::errc() || stop != end || from == 0) return false;
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    if (kNames[i] != name) continue;
    (*plans)[i] = {.from = from, .seen = 0};
    return true;
  }
  return false;
}

std::optional<Plans> parse(std::string_view spec) {
  Plans plans;
  while (!spec.empty()) {
    const std::string_view item = spec.substr(0, spec.find(','));
    if (!parse_item(item, &plans)) return std::nullopt;
    spec.remove_prefix(item.size() < spec.size() ? item.size() + 1 : item.size());
  }
  return plans;
}

Plans plans_of_environment() {
  const char* spec = std::getenv("EMUGPU_FAULTS");
  const std::optional<Plans> plans = parse(spec == nullptr ? "" : spec);
  if (!plans) {
    log(kLogError, "EMUGPU_FAULTS=%s: want init, context, export, register, flush or NAME@N", spec);
    std::abort();
  }
  return *plans;
}

State& state() {
  static State& only = *[] {
    auto* fresh = new State;
    const fabrail::MutexLock lock(fresh->mutex);
    fresh->plans = plans_of_environment();
    return fresh;
  }();
  return only;
}

}  // namespace

bool strikes(Fault fault) {
  State& s = state();
  const fabrail::MutexLock lock(s.mutex);
  Plan& plan = s.plans[static_cast<std::size_t>(fault)];
  ++plan.seen;
  return plan.from != 0 && plan.seen >= plan.from;
}

}  // namespace emugpu

int emugpu_set_faults(const char* spec) {
  const auto plans = emugpu::parse(spec);
  if (!plans) return -1;
  auto& s = emugpu::state();
  const fabrail::MutexLock lock(s.mutex);
  s.plans = *plans;
  return 0;
}
