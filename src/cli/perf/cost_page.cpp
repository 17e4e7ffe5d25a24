// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What a message cost inside the plugin, read from its counter page.
#include "src/cli/perf/cost_page.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "src/cli/common/failure.h"

namespace fabrail::cli::perf {
namespace {

constexpr size_t kPageBytes = 4096;

/// The plugin's threads may be writing while we read.
uint64_t load(const uint64_t& word) { return __atomic_load_n(&word, __ATOMIC_RELAXED); }

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  posts += other.posts;
  completions += other.completions;
  control_bytes += other.control_bytes;
  copied_bytes += other.copied_bytes;
  known = known || other.known;
  return *this;
}

Cost operator-(const Cost& later, const Cost& earlier) {
  return {.posts = later.posts - earlier.posts,
          .completions = later.completions - earlier.completions,
          .control_bytes = later.control_bytes - earlier.control_bytes,
          .copied_bytes = later.copied_bytes - earlier.copied_bytes,
          .known = later.known && earlier.known};
}

// An anonymous file: nothing is left behind, however this process ends.
CostPage::CostPage() : descriptor_(memfd_create("fabrail-counters", MFD_CLOEXEC)) {
  if (descriptor_ < 0 || ftruncate(descriptor_, kPageBytes) != 0) {
    throw Failure(std::string("cannot make a page for the plugin's counters: ") +
                  std::strerror(errno));
  }
  void* page = mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, descriptor_, 0);
  if (page == MAP_FAILED) throw Failure("cannot map the page for the plugin's counters");
  page_ = static_cast<fabrail_counters_t*>(page);
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor_);
  setenv("FABRAIL_COUNTERS", path.c_str(), 1);
}

CostPage::~CostPage() {
  munmap(page_, kPageBytes);
  close(descriptor_);
}

Cost CostPage::read() const {
  return {.posts = load(page_->libfabric_posts),
          .completions = load(page_->completions),
          .control_bytes = load(page_->control_bytes),
          .copied_bytes = load(page_->copied_bytes),
          .known = load(page_->magic) == FABRAIL_COUNTERS_MAGIC &&
                   page_->version == FABRAIL_COUNTERS_VERSION};
}

}  // namespace fabrail::cli::perf
