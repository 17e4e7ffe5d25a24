// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Sends and receives. A batch holds several; on a GPU each has warps of its own, here one thread
// moves all of them a step at a time, as none may wait for another.
#include <algorithm>
#include <cstring>
#include <memory>

#include "tests/nccl_e2e/kernels/ll.h"
#include "tests/nccl_e2e/kernels/work.h"

namespace emunccl {
namespace {

constexpr int kPeerToPeer = 1;  // the second connection of a pair serves sends and receives
constexpr std::size_t kRegisteredChunk = std::size_t{1} << 30;

struct Message {
  char* address = nullptr;
  std::size_t bytes = 0;
  std::size_t chunk = 0;
  bool low_latency = false;
  bool registered = false;  ///< a NIC moves the user's buffer itself
};

class Mover {
 public:
  virtual ~Mover() = default;
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  /// Moves on if it can.  Returns  true if it did.
  virtual bool advance() = 0;
  [[nodiscard]] bool done() const { return done_; }

 protected:
  Mover(Block& block, const Connection& connection, const Message& message)
      : connection_(connection),
        message_(message),
        step_lines_(static_cast<std::size_t>(block.step_bytes(NCCL_PROTO_LL)) /
                    sizeof(ncclLLFifoLine)) {}

  [[nodiscard]] std::size_t next_bytes() const {
    return std::min(message_.chunk, message_.bytes - moved_);
  }
  [[nodiscard]] char* next_address() const { return message_.address + moved_; }
  [[nodiscard]] ncclLLFifoLine* ll_slot() const {
    return connection_.line_slot<ncclLLFifoLine>(NCCL_PROTO_LL, step_lines_);
  }
  /// An empty message takes one step too.
  bool finish_step(std::size_t bytes) {
    ++connection_.step;
    moved_ += bytes;
    return moved_ >= message_.bytes;
  }
  void finish() {
    connection_.save();
    done_ = true;
  }

  Connection connection_;
  const Message message_;
  const std::size_t step_lines_;
  std::size_t moved_ = 0;
  bool done_ = false;
};

class Sender final : public Mover {
 public:
  Sender(Block& block, const Connection& connection, const Message& message)
      : Mover(block, connection, message) {}

  bool advance() override {
    if (all_posted_) return finish_registered();
    if (load_acquire(connection_.head) + NCCL_STEPS < connection_.step + 1) return false;
    const std::size_t bytes = next_bytes();
    if (message_.low_latency) {
      send_lines(bytes);
    } else {
      send_slot(bytes);
    }
    all_posted_ = finish_step(bytes);
    if (all_posted_ && !message_.registered) finish();
    return true;
  }

 private:
  void send_slot(std::size_t bytes) {
    const bool says_size = !(message_.registered && kRegisteredSendIsOneStep);
    connection_.post_size(says_size ? bytes : 0);
    if (!message_.registered) std::memcpy(connection_.simple_slot(), next_address(), bytes);
    store_release(connection_.tail, connection_.step + 1);
  }

  void send_lines(std::size_t bytes) {
    const std::size_t lines = ll_lines(bytes);
    const bool cleans = ll_cleans(connection_.step);
    connection_.post_size((cleans ? step_lines_ : lines) * sizeof(ncclLLFifoLine));
    ncclLLFifoLine* slot = ll_slot();
    for (std::size_t i = 0; i < (cleans ? step_lines_ : lines); ++i) {
      std::uint64_t data = 0;
      const std::size_t at = i * kLlDataBytes;
      if (at < bytes) std::memcpy(&data, next_address() + at, std::min(kLlDataBytes, bytes - at));
      ll_store(slot + i, data, ll_flag(connection_.step));
    }
  }

  // The user's buffer may be written again only when the proxy has sent it.
  bool finish_registered() {
    const ncclConnFifo& last = connection_.fifo[(connection_.step - 1) % NCCL_STEPS];
    if (__atomic_load_n(&last.size, __ATOMIC_ACQUIRE) != kTakenByProxy) return false;
    finish();
    return true;
  }

  bool all_posted_ = false;
};

class Receiver final : public Mover {
 public:
  Receiver(Block& block, const Connection& connection, const Message& message)
      : Mover(block, connection, message) {
    if (!message.low_latency) store_release(connection_.head, connection_.step);
    // Tells the proxy that the kernel runs, so that the user's buffer may be written.
    if (message.registered && !kRegisteredSendIsOneStep) connection_.post_size(0);
  }

  bool advance() override {
    const std::size_t bytes = next_bytes();
    const std::size_t had = lines_;
    if (!(message_.low_latency ? receive_lines(bytes) : receive_slot(bytes))) {
      return lines_ != had;
    }
    store_release(connection_.head, connection_.step + 1);
    lines_ = 0;
    if (finish_step(bytes)) finish();
    return true;
  }

 private:
  bool receive_slot(std::size_t bytes) {
    if (load_acquire(connection_.tail) < connection_.step + 1) return false;
    if (message_.registered) {
      if (kRegisteredSendIsOneStep) connection_.post_size(0);
    } else {
      std::memcpy(next_address(), connection_.simple_slot(), bytes);
    }
    return true;
  }

  bool receive_lines(std::size_t bytes) {
    ncclLLFifoLine* slot = ll_slot();
    for (; lines_ < ll_lines(bytes); ++lines_) {
      std::uint64_t data = 0;
      if (!ll_take(slot + lines_, connection_.step, &data)) return false;
      const std::size_t at = lines_ * kLlDataBytes;
      std::memcpy(next_address() + at, &data, std::min(kLlDataBytes, bytes - at));
    }
    return true;
  }

  std::size_t lines_ = 0;  ///< lines of the current step that have arrived
};

using Movers = std::vector<std::unique_ptr<Mover>>;

// This channel's part of a message that `channels` channels share.
struct Share {
  bool any = false;
  std::size_t begin = 0;
  std::size_t end = 0;
};
Share share_of(const Block& block, const ncclDevWorkP2p& work, int channels, std::size_t bytes) {
  const int part = ncclP2pChannelToPart(work.nP2pChannels, work.channelBase, block.index);
  Share share{.any = part < channels};
  if (share.any) ncclP2pPartBounds(channels, part, bytes, &share.begin, &share.end);
  return share;
}

std::size_t chunk_of(bool registered, std::uint8_t encoded, std::size_t bytes) {
  if (!registered) return u32fp8Decode(encoded);
  return kRegisteredSendIsOneStep ? bytes : kRegisteredChunk;
}

void copy_to_self(const ncclDevWorkP2p& work, const Share& share) {
  char* from = reach_bytes(work.sendAddr) + share.begin;
  char* to = reach_bytes(work.recvAddr) + share.begin;
  if (share.any && from != to) std::memmove(to, from, share.end - share.begin);
}

void add_movers(Block& block, const ncclDevWorkP2p& work, Movers* movers) {
  if (peer_registered(work)) refuse("sends between buffers registered with a peer GPU");
  const Share send = share_of(block, work, work.nSendChannels, work.sendBytes);
  const Share receive = share_of(block, work, work.nRecvChannels, work.recvBytes);
  if (work.sendRank == block.comm.rank) return copy_to_self(work, send);
  if (send.any) {
    const std::size_t bytes = send.end - send.begin;
    const bool registered = send_registered(work);
    const Message message{.address = reach_bytes(work.sendAddr) + send.begin,
                          .bytes = bytes,
                          .chunk = chunk_of(registered, work.sendChunkSize_u32fp8, bytes),
                          .low_latency = work.sendProtoLL != 0,
                          .registered = registered};
    movers->push_back(std::make_unique<Sender>(
        block, block.send_connection(work.sendRank, kPeerToPeer), message));
  }
  if (receive.any) {
    const std::size_t bytes = receive.end - receive.begin;
    const bool registered = receive_registered(work);
    const Message message{.address = reach_bytes(work.recvAddr) + receive.begin,
                          .bytes = bytes,
                          .chunk = chunk_of(registered, work.recvChunkSize_u32fp8, bytes),
                          .low_latency = work.recvProtoLL != 0,
                          .registered = registered};
    movers->push_back(std::make_unique<Receiver>(
        block, block.receive_connection(work.recvRank, kPeerToPeer), message));
  }
}

// One round over all that are not done.  Returns  true when all are.
bool advance_all(const Movers& movers) {
  for (bool moved = true; moved;) {
    moved = false;
    bool all_done = true;
    for (const auto& mover : movers) {
      if (!mover->done()) moved |= mover->advance();
      all_done &= mover->done();
    }
    if (all_done) return true;
  }
  return false;
}

}  // namespace

void run_send_receive(Block& block, std::vector<ncclDevWorkP2p> works) {
  Movers movers;
  for (const ncclDevWorkP2p& work : works) add_movers(block, work, &movers);
  block.wait([&] { return advance_all(movers); });
}

}  // namespace emunccl
