// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The LL and LL128 protocols: the receiver watches the lines themselves.
#include "tests/nccl_e2e/kernels/ll.h"

#include <algorithm>
#include <cstring>

#include "tests/nccl_e2e/kernels/ll128.h"
#include "tests/nccl_e2e/kernels/primitives.h"

namespace emunccl {
namespace {

using Words = std::vector<std::uint64_t>;

// What differs between the two.

struct Ll {
  using Line = ncclLLFifoLine;
  static constexpr int kProtocol = NCCL_PROTO_LL;
  static constexpr std::size_t kWords = 1;  // of data, in a line
  static constexpr bool kTellsTail = false;

  static std::size_t lines(std::size_t bytes) { return ll_lines(bytes); }
  static bool cleans(std::uint64_t step) { return ll_cleans(step); }
  static void store(Line* line, const std::uint64_t* words, std::uint64_t step) {
    ll_store(line, *words, ll_flag(step));
  }
  static bool take(Line* line, std::uint64_t step, std::uint64_t* words) {
    return ll_take(line, step, words);
  }
};

struct Ll128 {
  using Line = Ll128Line;
  static constexpr int kProtocol = NCCL_PROTO_LL128;
  static constexpr std::size_t kWords = NCCL_LL128_DATAELEMS;
  // The proxy of a GPU's memory cannot look at flags, so it waits for the tail.
  static constexpr bool kTellsTail = true;

  static std::size_t lines(std::size_t bytes) { return ll128_lines(bytes); }
  static bool cleans(std::uint64_t) { return false; }  // flags of 64 bits do not repeat
  static void store(Line* line, const std::uint64_t* words, std::uint64_t step) {
    ll128_store(line, words, ll128_flag(step));
  }
  static bool take(Line* line, std::uint64_t step, std::uint64_t* words) {
    return ll128_take(line, step, words);
  }
};

template <typename Protocol>
class LowLatency final : public Primitives {
  using Line = typename Protocol::Line;

 public:
  LowLatency(Block& block, const Operands& operands, const std::vector<int>& receive_from,
             const std::vector<int>& send_to)
      : Primitives(block, operands, receive_from, send_to),
        step_lines_(static_cast<std::size_t>(block.step_bytes(Protocol::kProtocol)) /
                    sizeof(Line)) {}

  ~LowLatency() override {
    for (const Connection& c : receive_) c.save();
    for (const Connection& c : send_) c.save();
  }

  void run(const Transfer& transfer) override {
    const auto count = static_cast<std::size_t>(std::max<std::ptrdiff_t>(transfer.count, 0));
    const std::size_t bytes = count * element_bytes();
    const std::size_t lines = Protocol::lines(bytes);
    if (transfer.send && !wait_for_room(lines)) return;
    std::vector<Words> received(transfer.receive ? receive_.size() : 0,
                                Words(lines * Protocol::kWords));
    for (std::size_t i = 0; i < received.size(); ++i) {
      if (!receive_lines(receive_[i], lines, &received[i])) return;
    }
    Words result(lines * Protocol::kWords);
    if (count > 0) reduce(transfer, received, count, &result);
    if (transfer.send) send_lines(lines, result);
    if (transfer.target >= 0) std::memcpy(output_at(transfer.target), result.data(), bytes);
    if (!transfer.receive) return;
    for (Connection& c : receive_) store_release(c.head, ++c.step);
  }

 private:
  Line* slot(const Connection& c) const {
    return c.template line_slot<Line>(Protocol::kProtocol, step_lines_);
  }

  bool wait_for_room(std::size_t lines) {
    for (Connection& c : send_) {
      if (!block_.wait([&] { return load_acquire(c.head) + NCCL_STEPS >= c.step + 1; })) {
        return false;
      }
      c.post_size((Protocol::cleans(c.step) ? step_lines_ : lines) * sizeof(Line));
    }
    return true;
  }

  bool receive_lines(const Connection& c, std::size_t lines, Words* words) {
    Line* line = slot(c);
    for (std::size_t i = 0; i < lines; ++i) {
      std::uint64_t* to = words->data() + i * Protocol::kWords;
      if (!block_.wait([&] { return Protocol::take(line + i, c.step, to); })) return false;
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

  void send_lines(std::size_t lines, const Words& words) {
    static constexpr std::uint64_t kNothing[Protocol::kWords] = {};
    for (Connection& c : send_) {
      Line* line = slot(c);
      for (std::size_t i = 0; i < lines; ++i) {
        Protocol::store(line + i, words.data() + i * Protocol::kWords, c.step);
      }
      for (std::size_t i = lines; Protocol::cleans(c.step) && i < step_lines_; ++i) {
        Protocol::store(line + i, kNothing, c.step);
      }
      ++c.step;
      if (Protocol::kTellsTail && c.fifo != nullptr) store_release(c.tail, c.step);
    }
  }

  const std::size_t step_lines_;
};

}  // namespace

std::unique_ptr<Primitives> make_ll(Block& block, const Operands& operands,
                                    const std::vector<int>& receive_from,
                                    const std::vector<int>& send_to) {
  return std::make_unique<LowLatency<Ll>>(block, operands, receive_from, send_to);
}

std::unique_ptr<Primitives> make_ll128(Block& block, const Operands& operands,
                                       const std::vector<int>& receive_from,
                                       const std::vector<int>& send_to) {
  return std::make_unique<LowLatency<Ll128>>(block, operands, receive_from, send_to);
}

}  // namespace emunccl
