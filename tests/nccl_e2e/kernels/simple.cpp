// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The Simple protocol: whole slices in eight slots a connection, guarded by a head and a tail
// counter. Sizes and steps are those of the GPU's kernel, since the proxies count on them.
#include <algorithm>

#include "tests/nccl_e2e/kernels/primitives.h"

namespace emunccl {
namespace {

std::uint64_t round_up(std::uint64_t value, int unit) {
  const auto u = static_cast<std::uint64_t>(unit);
  return (value + u - 1) / u * u;
}

class Simple final : public Primitives {
 public:
  Simple(Block& block, const Operands& operands, const std::vector<int>& receive_from,
         const std::vector<int>& send_to, Slicing slicing, NetRegistration registration)
      : Primitives(block, operands, receive_from, send_to),
        slicing_(slicing),
        registration_(registration) {
    const int chunk_steps = slicing.slices_per_chunk * slicing.steps_per_slice;
    for (Connection& c : receive_) {
      c.step = round_up(c.step, chunk_steps);
      store_release(c.head, c.step);  // credits, in case it was rounded up
      if (is_registered(c)) c.post_size(0);
    }
    for (Connection& c : send_) c.step = round_up(c.step, chunk_steps);
  }

  ~Simple() override {
    for (const Connection& c : receive_) c.save();
    for (const Connection& c : send_) {
      c.save();
      if (is_registered(c)) wait_until_sent(c);
    }
  }

  void run(const Transfer& transfer) override {
    const std::ptrdiff_t count = std::max<std::ptrdiff_t>(transfer.count, 0);
    const std::ptrdiff_t slice = slice_elements(count);
    std::ptrdiff_t offset = 0;
    for (int i = 0; i < slicing_.slices_per_chunk; ++i) {
      const std::ptrdiff_t n = std::min(slice, count - offset);
      if (!wait_for_peers(transfer, n)) return;
      if (n > 0 && !registration_.kernel_moves_nothing) move(transfer, offset, n);
      post(transfer);
      offset += n;
    }
  }

 private:
  [[nodiscard]] bool is_registered(const Connection& c) const {
    return registration_.used && (c.info->flags & NCCL_DIRECT_NIC) != 0;
  }

  // A user's buffer must not be written again before the NIC has read it.
  void wait_until_sent(const Connection& c) {
    const auto last = (c.step - steps()) % NCCL_STEPS;
    block_.wait(
        [&] { return __atomic_load_n(&c.fifo[last].size, __ATOMIC_ACQUIRE) == kTakenByProxy; });
  }

  [[nodiscard]] std::uint64_t steps() const {
    return static_cast<std::uint64_t>(slicing_.steps_per_slice);
  }

  // A chunk is cut into equal slices of whole 16 elements, of a least size.
  [[nodiscard]] std::ptrdiff_t slice_elements(std::ptrdiff_t count) const {
    const std::ptrdiff_t unit = std::ptrdiff_t{16} * slicing_.slices_per_chunk;
    const std::ptrdiff_t step_bytes =
        registration_.kernel_moves_nothing
            ? std::ptrdiff_t{1} << 30
            : block_.step_bytes(NCCL_PROTO_SIMPLE) / static_cast<int>(element_bytes());
    const std::ptrdiff_t least = step_bytes * slicing_.steps_per_slice / 32;
    return std::max((count + unit - 1) / unit * 16, least);
  }

  bool wait_for_peers(const Transfer& transfer, std::ptrdiff_t n) {
    if (transfer.receive) {
      for (Connection& c : receive_) {
        if (!block_.wait([&] { return load_acquire(c.tail) >= c.step + steps(); })) return false;
      }
    }
    if (!transfer.send) return true;
    for (Connection& c : send_) {
      const auto has_room = [&] { return load_acquire(c.head) + NCCL_STEPS >= c.step + steps(); };
      if (!block_.wait(has_room)) return false;
      c.post_size(static_cast<std::size_t>(n) * element_bytes());
    }
    return true;
  }

  // With registered buffers what was received lies in the output already, and what is sent on is
  // sent from there.
  void move(const Transfer& transfer, std::ptrdiff_t offset, std::ptrdiff_t n) {
    char* user = output_at(std::max(transfer.source, transfer.target) + offset);
    std::vector<const char*> sources;
    std::vector<char*> targets;
    if (transfer.source >= 0) sources.push_back(input_at(transfer.source + offset));
    if (transfer.target >= 0) targets.push_back(output_at(transfer.target + offset));
    if (transfer.receive) {
      for (const Connection& c : receive_) {
        sources.push_back(is_registered(c) ? user : c.simple_slot());
      }
    }
    if (transfer.send) add_send_targets(transfer, user, &targets);
    if (targets.empty()) return;
    combine(sources, targets, static_cast<std::size_t>(n), transfer.source >= 0, transfer.finish);
  }

  void add_send_targets(const Transfer& transfer, char* user, std::vector<char*>* targets) {
    for (const Connection& c : send_) {
      if (!is_registered(c)) {
        targets->push_back(c.simple_slot());
      } else if (transfer.receive) {
        targets->push_back(user);
      }
    }
  }

  void post(const Transfer& transfer) {
    if (transfer.receive) {
      for (Connection& c : receive_) store_release(c.head, c.step += steps());
    }
    if (transfer.send) {
      for (Connection& c : send_) store_release(c.tail, c.step += steps());
    }
  }

  const Slicing slicing_;
  const NetRegistration registration_;
};

}  // namespace

std::unique_ptr<Primitives> make_simple(Block& block, const Operands& operands,
                                        const std::vector<int>& receive_from,
                                        const std::vector<int>& send_to, Slicing slicing,
                                        NetRegistration registration) {
  return std::make_unique<Simple>(block, operands, receive_from, send_to, slicing, registration);
}

}  // namespace emunccl
