// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The LL protocol: no tail counter, the receiver watches the lines themselves.
#include "tests/nccl_e2e/kernels/ll.h"

#include <algorithm>
#include <cstring>

#include "tests/nccl_e2e/kernels/primitives.h"

namespace emunccl {
namespace {

using Words = std::vector<std::uint64_t>;

class LowLatency final : public Primitives {
 public:
  LowLatency(Block& block, const Operands& operands, const std::vector<int>& receive_from,
             const std::vector<int>& send_to)
      : Primitives(block, operands, receive_from, send_to),
        step_lines_(static_cast<std::size_t>(block.step_bytes(NCCL_PROTO_LL)) /
                    sizeof(ncclLLFifoLine)) {}

  ~LowLatency() override {
    for (const Connection& c : receive_) c.save();
    for (const Connection& c : send_) c.save();
  }

  void run(const Transfer& transfer) override {
    const auto count = static_cast<std::size_t>(std::max<std::ptrdiff_t>(transfer.count, 0));
    const std::size_t bytes = count * element_bytes();
    const std::size_t lines = ll_lines(bytes);
    if (transfer.send && !wait_for_room(lines)) return;
    std::vector<Words> received(transfer.receive ? receive_.size() : 0, Words(lines));
    for (std::size_t i = 0; i < received.size(); ++i) {
      if (!receive_lines(receive_[i], &received[i])) return;
    }
    Words result(lines);
    if (count > 0) reduce(transfer, received, count, &result);
    if (transfer.send) send_lines(result);
    if (transfer.target >= 0) std::memcpy(output_at(transfer.target), result.data(), bytes);
    if (!transfer.receive) return;
    for (Connection& c : receive_) store_release(c.head, ++c.step);
  }

 private:
  bool wait_for_room(std::size_t lines) {
    for (Connection& c : send_) {
      if (!block_.wait([&] { return load_acquire(c.head) + NCCL_STEPS >= c.step + 1; })) {
        return false;
      }
      c.post_size((ll_cleans(c.step) ? step_lines_ : lines) * sizeof(ncclLLFifoLine));
    }
    return true;
  }

  bool receive_lines(const Connection& c, Words* words) {
    const ncclLLFifoLine* lines = c.ll_slot(step_lines_);
    const std::uint32_t flag = ll_flag(c.step);
    for (std::size_t i = 0; i < words->size(); ++i) {
      if (!block_.wait([&] { return ll_load(lines + i, flag, &(*words)[i]); })) return false;
    }
    return true;
  }

  void reduce(const Transfer& transfer, const std::vector<Words>& received, std::size_t count,
              Words* result) const {
    std::vector<const char*> sources;
    if (transfer.source >= 0) sources.push_back(input_at(transfer.source));
    for (const Words& words : received) {
      sources.push_back(reinterpret_cast<const char*>(words.data()));
    }
    combine(sources, {reinterpret_cast<char*>(result->data())}, count, transfer.source >= 0,
            transfer.finish);
  }

  void send_lines(const Words& words) {
    for (Connection& c : send_) {
      ncclLLFifoLine* lines = c.ll_slot(step_lines_);
      const std::uint32_t flag = ll_flag(c.step);
      for (std::size_t i = 0; i < words.size(); ++i) ll_store(lines + i, words[i], flag);
      for (std::size_t i = words.size(); ll_cleans(c.step) && i < step_lines_; ++i) {
        ll_store(lines + i, 0, flag);
      }
      ++c.step;
    }
  }

  const std::size_t step_lines_;
};

}  // namespace

std::unique_ptr<Primitives> make_ll(Block& block, const Operands& operands,
                                    const std::vector<int>& receive_from,
                                    const std::vector<int>& send_to) {
  return std::make_unique<LowLatency>(block, operands, receive_from, send_to);
}

}  // namespace emunccl
