// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The two halves of a stream of messages.
#include "tests/conformance/stream.h"

namespace fabrail::conformance {

SendStream::SendStream(const Net& net, const SendComm& comm, const StreamPlan& plan)
    : net_(net),
      comm_(comm),
      plan_(plan),
      memory_(kStreamDepth * plan.room),
      mr_(net, comm.get(), memory_.bytes()) {}

void SendStream::advance() {
  for (Pending& slot : slots_) step(net_, slot);
  while (completed_ < posted_ && slots_[completed_ % kStreamDepth].done) ++completed_;
  if (posted_ == plan_.count || posted_ - completed_ == kStreamDepth) return;
  const size_t at = posted_ % kStreamDepth;
  const Bytes part = memory_.part(at * plan_.room, plan_.size_of(posted_));
  fill_pattern(part, plan_.first_pattern + posted_);
  const Pending next = try_isend(net_, comm_, slice(part, mr_));
  ASSERT_FALSE(next.failed()) << "isend returned " << next.result;
  if (!next.posted()) return;
  slots_[at] = next;
  ++posted_;
}

RecvStream::RecvStream(const Net& net, const RecvComm& comm, const StreamPlan& plan)
    : net_(net),
      comm_(comm),
      plan_(plan),
      memory_(kStreamDepth * plan.room),
      mr_(net, comm.get(), memory_.bytes()) {}

void RecvStream::advance() {
  if (posted_ < plan_.count && posted_ - completed_ < kStreamDepth) {
    const size_t at = posted_ % kStreamDepth;
    const Bytes part = memory_.part(at * plan_.room, plan_.room);
    const Pending next = try_irecv(net_, comm_, {slice(part, mr_)});
    ASSERT_FALSE(next.failed()) << "irecv returned " << next.result;
    if (next.posted()) slots_[at] = next, ++posted_;
  }
  if (posted_ == completed_) return;
  Pending& oldest = slots_[completed_ % kStreamDepth];
  step(net_, oldest);
  ASSERT_FALSE(oldest.failed()) << "test returned " << oldest.result;
  if (oldest.done) compare(oldest);
}

void RecvStream::compare(const Pending& oldest) {
  const size_t size = plan_.size_of(completed_);
  const Bytes part = memory_.part(completed_ % kStreamDepth * plan_.room, size);
  ASSERT_EQ(oldest.sizes[0], static_cast<int>(size)) << "message " << completed_;
  ASSERT_TRUE(has_pattern(part, plan_.first_pattern + completed_)) << "message " << completed_;
  ++completed_;
}

void run_streams(SendStream& send, RecvStream& recv, const Deadline& deadline) {
  const auto advance_both = [&] {
    send.advance();
    recv.advance();
    return (send.done() && recv.done()) || testing::Test::HasFatalFailure();
  };
  ASSERT_TRUE(poll_until(advance_both, deadline)) << recv.completed() << " messages arrived";
}

}  // namespace fabrail::conformance
