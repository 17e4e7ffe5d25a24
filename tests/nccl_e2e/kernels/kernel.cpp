// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The kernel's entry: each block finds its channel and works through its list of batches.
#include "tests/nccl_e2e/kernels/kernel.h"

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/nccl_e2e/kernels/work.h"

namespace emunccl {
namespace {

// Works of one batch, which may be continued by batches that follow it.
struct BatchWorks {
  std::vector<const char*> works;
  int type = 0;
  int function = 0;
  int next = -1;  ///< index of the next batch of this block; -1: none
};

// The channels of the mask in order, one a block.
int channel_of_block(std::uint64_t mask, unsigned block) {
  for (int channel = 0; channel < MAXCHANNELS; ++channel) {
    if ((mask >> channel & 1) != 0 && block-- == 0) return channel;
  }
  refuse("a grid with more blocks than channels");
}

const char* work_at(const ncclDevKernelArgs& args, std::uint32_t offset) {
  if (args.workStorageType == ncclDevWorkStorageTypeArgs) {
    return reinterpret_cast<const char*>(&args) + offset;
  }
  return reach_bytes(args.workBuf) + (offset & args.workMask);
}

std::uint32_t work_bytes(const ncclDevWorkBatch& batch) {
  return static_cast<std::uint32_t>(ncclDevWorkSize(static_cast<ncclDevWorkType>(batch.workType)));
}

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 25, 0)
// The host reuses the FIFO up to here.
void note_consumed(const ncclDevKernelArgs& args, const Block& block,
                   const ncclDevWorkBatch& batch) {
  if (args.workStorageType != ncclDevWorkStorageTypeFifo || batch.offsetBitset == 0) return;
  const auto items = static_cast<std::uint32_t>(64 - __builtin_clzll(batch.offsetBitset));
  const std::uint32_t end = batch.offsetBase + items * work_bytes(batch);
  __atomic_store_n(&reach(block.comm.workConsumed)[block.index], end, __ATOMIC_RELEASE);
}
#else
void note_consumed(const ncclDevKernelArgs&, const Block&, const ncclDevWorkBatch&) {}
#endif

BatchWorks read_batch(const ncclDevKernelArgs& args, const Block& block, int index) {
  const auto* batches = reinterpret_cast<const ncclDevWorkBatch*>(&args + 1);
  BatchWorks all;
  for (;;) {
    const ncclDevWorkBatch& batch = batches[index];
    for (std::uint32_t bit = 0; bit < 64; ++bit) {
      if ((batch.offsetBitset >> bit & 1) == 0) continue;
      all.works.push_back(work_at(args, batch.offsetBase + bit * work_bytes(batch)));
    }
    all.type = batch.workType;
    all.function = batch.funcId;
    all.next = batch.nextJump == 0 ? -1 : index + batch.nextJump;
    if (batch.nextExtends == 0) {
      note_consumed(args, block, batch);
      return all;
    }
    index = all.next;
  }
}

template <typename Work>
Work copy_of(const char* bytes) {
  Work work;
  std::memcpy(&work, bytes, sizeof work);
  return work;
}

void run_batch(Block& block, const BatchWorks& batch) {
  switch (batch.type) {
    case ncclDevWorkTypeP2p: {
      std::vector<ncclDevWorkP2p> works;
      for (const char* work : batch.works) works.push_back(copy_of<ncclDevWorkP2p>(work));
      return run_send_receive(block, std::move(works));
    }
    case ncclDevWorkTypeColl:
      for (const char* work : batch.works) {
        run_collective(block, function_of(batch.function), copy_of<ncclDevWorkColl>(work));
        if (block.aborted()) return;
      }
      return;
    default:
      refuse("NCCL work of type %d", batch.type);
  }
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 25, 0)
// NCCL's profiler and its proxy follow kernels by counters of work begun and completed.
void stamp(const BatchWorks& batch, const Block& block, ncclDevProfiler* profilers) {
  using Clock = std::chrono::system_clock;
  ncclDevProfiler& profiler = reach(profilers)[block.index];
  std::uint64_t counter = block.channel.workCounter;
  for (const char* work : batch.works) {
    ++counter;
    const bool wanted = batch.type == ncclDevWorkTypeP2p
                            ? copy_of<ncclDevWorkP2p>(work).profilerEnabled != 0
                            : copy_of<ncclDevWorkColl>(work).profilerEnabled != 0;
    if (!wanted) continue;
    auto& entry = profiler.data[counter % MAX_PROFILER_EVENTS_PER_CHANNEL];
    entry.timestamp = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
    store_release(&entry.counter, counter);
  }
}
void note_begin(const BatchWorks& batch, const Block& block) {
  stamp(batch, block, block.comm.workStarted);
}
void note_end(const BatchWorks& batch, Block& block) {
  stamp(batch, block, block.comm.workCompleted);
  block.channel.workCounter += batch.works.size();
}
#else
void note_begin(const BatchWorks&, const Block&) {}
void note_end(const BatchWorks&, Block&) {}
#endif

void run_block(const ncclDevKernelArgs& args, unsigned number) {
  auto* shared = reinterpret_cast<CommAndChannels*>(reach(args.comm));
  Block block(shared, channel_of_block(args.channelMask, number));
  for (int index = static_cast<int>(number); index >= 0 && !block.aborted();) {
    const BatchWorks batch = read_batch(args, block, index);
    note_begin(batch, block);
    run_batch(block, batch);
    if (!block.aborted()) note_end(batch, block);
    index = batch.next;
  }
}

}  // namespace

void run_kernel(const void* arguments, const emugpu_grid* grid) {
  const auto& args = *static_cast<const ncclDevKernelArgs*>(arguments);
  std::vector<std::thread> blocks;
  for (unsigned i = 1; i < grid->blocks[0]; ++i)
    blocks.emplace_back([&, i] { run_block(args, i); });
  run_block(args, 0);
  for (std::thread& block : blocks) block.join();
}

}  // namespace emunccl
