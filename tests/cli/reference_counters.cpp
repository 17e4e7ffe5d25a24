// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The counter page of the reference plugin.
#include "tests/cli/reference_counters.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "include/fabrail_counters.h"

namespace fabrail::reference {
namespace {

fabrail_counters_t* g_page = nullptr;

void add(uint64_t& counter, uint64_t amount) {
  __atomic_fetch_add(&counter, amount, __ATOMIC_RELAXED);
}

}  // namespace

void open_counters(const char* path) {
  if (path == nullptr || g_page != nullptr) return;
  const int descriptor = open(path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return;
  void* page =
      mmap(nullptr, sizeof(fabrail_counters_t), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (page == MAP_FAILED) return;
  g_page = static_cast<fabrail_counters_t*>(page);
  g_page->version = FABRAIL_COUNTERS_VERSION;
  g_page->pid = static_cast<uint32_t>(getpid());
  __atomic_store_n(&g_page->magic, FABRAIL_COUNTERS_MAGIC, __ATOMIC_RELEASE);
}

void count_send(uint64_t bytes) {
  if (g_page == nullptr) return;
  add(g_page->libfabric_posts, 1);
  add(g_page->control_bytes, sizeof(uint64_t));
  add(g_page->send_messages, 1);
  add(g_page->send_bytes, bytes);
}

void count_receive(uint64_t bytes) {
  if (g_page == nullptr) return;
  add(g_page->completions, 1);
  add(g_page->recv_messages, 1);
  add(g_page->recv_bytes, bytes);
}

}  // namespace fabrail::reference
