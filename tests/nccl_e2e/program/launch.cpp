// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Forks before anything of CUDA is touched, so that each rank initializes it by itself.
#include "tests/nccl_e2e/program/launch.h"

#include <cuda_runtime_api.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "tests/nccl_e2e/program/device.h"

namespace nccl_test {
namespace {

using Body = std::function<int(int, Shared*)>;

constexpr int kTimedOut = 124;
constexpr int kBadUsage = 2;

void* map_shared(int descriptor) {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// The descriptor outlives exec.
Shared* open_shared(int ranks, int* descriptor) {
  *descriptor = memfd_create("nccl_test", 0);
  if (*descriptor < 0 || ftruncate(*descriptor, sizeof(Shared)) != 0) return nullptr;
  void* memory = map_shared(*descriptor);
  if (memory == nullptr) return nullptr;
  auto* shared = new (memory) Shared;
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&shared->barrier, &attributes, static_cast<unsigned>(ranks));
  return shared;
}

// The user's own EMUGPU_COUNT or EMUGPU_PCI wins.
void pretend_node(const Job& job, int node) {
  const std::string host = "fabrail-node-" + std::to_string(node);
  if (job.nodes > 1) setenv("NCCL_HOSTID", host.c_str(), 1);
  setenv("EMUGPU_COUNT", std::to_string(job.gpus_per_node).c_str(), 0);
}

[[noreturn]] void start_on_node(const Job& job, int rank, int descriptor) {
  const std::string node = std::to_string(rank / job.gpus_per_node);
  std::vector<std::string> words;
  for (const std::string& word : job.on_node) words.push_back(word == "{}" ? node : word);
  char self[PATH_MAX] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) std::exit(kBadUsage);
  words.emplace_back(self);
  words.insert(words.end(), job.arguments.begin(), job.arguments.end());
  for (const auto& [option, value] :
       {std::pair("--rank", rank), std::pair("--shared-memory", descriptor)}) {
    words.emplace_back(option);
    words.push_back(std::to_string(value));
  }
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  std::perror(pointers[0]);
  std::exit(kBadUsage);
}

std::vector<pid_t> start_ranks(const Job& job, Shared* shared, int descriptor, const Body& body) {
  std::vector<pid_t> children;
  std::fflush(nullptr);
  for (int rank = 0; rank < job.ranks(); ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      pretend_node(job, rank / job.gpus_per_node);
      if (!job.on_node.empty()) start_on_node(job, rank, descriptor);
      std::exit(body(rank, shared));
    }
    children.push_back(child);
  }
  return children;
}

int status_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

void end_all(const std::vector<pid_t>& children) {
  for (const pid_t child : children) kill(child, SIGKILL);
}

// A rank that fails takes the others with it: they would wait for it for ever.
int wait_for_ranks(std::vector<pid_t> children) {
  int result = 0;
  while (!children.empty()) {
    int wait_status = 0;
    const pid_t ended = waitpid(-1, &wait_status, 0);
    if (ended < 0) return result;
    std::erase(children, ended);
    const int status = status_of(wait_status);
    if (status == 0) continue;
    if (result == 0) {
      result = status;
      if (status > kWrongValues) std::fprintf(stderr, "a rank ended with status %d\n", status);
    }
    // Wrong values are no reason: every rank comes to its end.
    if (status > kWrongValues) end_all(children);
  }
  return result;
}

std::vector<pid_t>& started() {
  static std::vector<pid_t> children;
  return children;
}

void on_alarm(int) {
  end_all(started());
  _exit(kTimedOut);
}

}  // namespace

int launch(const Job& job, const Body& body) {
  if (job.ranks() > Shared::kMaxRanks) return kBadUsage;
  if (job.rank >= 0) {
    void* shared = map_shared(job.shared_memory);
    return shared != nullptr ? body(job.rank, static_cast<Shared*>(shared)) : kBadUsage;
  }
  int descriptor = -1;
  Shared* shared = open_shared(job.ranks(), &descriptor);
  if (shared == nullptr) return kBadUsage;
  started() = start_ranks(job, shared, descriptor, body);
  signal(SIGALRM, on_alarm);
  alarm(static_cast<unsigned>(job.timeout_s));
  return wait_for_ranks(started());
}

void bind_gpu(const Job& job, int rank) {
  require(cudaSetDevice(rank % job.gpus_per_node), "cudaSetDevice");
}

ncclComm_t open_communicator(const Job& job, int rank, Shared* shared) {
  if (rank == 0) require(ncclGetUniqueId(&shared->id), "ncclGetUniqueId");
  shared->wait_for_all();
  ncclComm_t comm = nullptr;
  require(ncclCommInitRank(&comm, job.ranks(), shared->id, rank), "ncclCommInitRank");
  return comm;
}

}  // namespace nccl_test
