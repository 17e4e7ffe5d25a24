// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Streams: in-order queues with a thread each. The rules of the legacy NULL stream become
// dependencies between queues, taken when work is submitted.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "tests/sim/gpu/driver/context.h"
#include "tests/sim/gpu/driver/cuda_public.h"

namespace emugpu {

/// A point in a stream: its work up to the `sequence`-th piece.
struct StreamPoint {
  Stream* stream = nullptr;
  std::uint64_t sequence = 0;
};

struct Stream {
  struct Work {
    std::function<void()> run;  // may be empty: a pure dependency
    std::vector<StreamPoint> after;
  };
  Context* context = nullptr;
  bool non_blocking = false;  ///< does not wait for the NULL stream, nor it for this one
  int priority = 0;
  std::deque<Work> queue{};
  std::uint64_t submitted = 0;
  std::uint64_t completed = 0;
  bool has_thread = false;
  bool closing = false;
};

/// The stream behind a handle, or the current context's NULL stream; null without a context.
Stream* stream_of(CUstream handle);

/// Appends work; returns the point at which it is done.
StreamPoint submit(Stream* stream, std::function<void()> run, std::vector<StreamPoint> after = {});

/// The point at which all that is in the stream now is done.
StreamPoint last_point(Stream* stream);

void wait_for(const StreamPoint& point);
bool is_done(const StreamPoint& point);

Stream* open_stream(Context* context, bool non_blocking, int priority);
/// Returns at once; queued work still runs. The object stays, since events may name it.
void close_stream(Stream* stream);
/// Waits for all that a context's streams hold now.
void drain(Context* context);

}  // namespace emugpu
