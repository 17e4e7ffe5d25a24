// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One lock for all queues: simple, and fast enough for tests.
#include "tests/sim/gpu/driver/stream.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace emugpu {
namespace {

// Never destroyed: stream threads outlive main().
struct Queues {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::unique_ptr<Stream>> streams;
};
Queues& queues() {
  static Queues& only = *new Queues;
  return only;
}

bool reached(const StreamPoint& point) { return point.stream->completed >= point.sequence; }

void run_stream(Stream* stream) {
  Queues& q = queues();
  std::unique_lock lock(q.mutex);
  for (;;) {
    q.changed.wait(lock, [&] { return stream->closing || !stream->queue.empty(); });
    if (stream->queue.empty()) return;
    Stream::Work work = std::move(stream->queue.front());
    stream->queue.pop_front();
    for (const StreamPoint& point : work.after) {
      q.changed.wait(lock, [&] { return reached(point); });
    }
    lock.unlock();
    if (work.run) work.run();
    work.run = nullptr;
    lock.lock();
    ++stream->completed;
    q.changed.notify_all();
  }
}

Stream* make_stream(Queues& q, const Stream& wanted) {
  q.streams.push_back(std::make_unique<Stream>(wanted));
  Stream* stream = q.streams.back().get();
  stream->context->streams.push_back(stream);
  return stream;
}

void add_if_busy(Stream* other, std::vector<StreamPoint>* after) {
  if (other->submitted > other->completed) after->push_back({other, other->submitted});
}

// Legacy NULL stream: it waits for all blocking streams, and they for it.
void add_null_stream_rules(Stream* stream, std::vector<StreamPoint>* after) {
  Stream* null_stream = stream->context->null_stream;
  if (stream != null_stream) {
    if (!stream->non_blocking && null_stream != nullptr) add_if_busy(null_stream, after);
    return;
  }
  for (Stream* other : stream->context->streams) {
    if (other != stream && !other->non_blocking) add_if_busy(other, after);
  }
}

}  // namespace

Stream* stream_of(CUstream handle) {
  if (handle != nullptr && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
    return reinterpret_cast<Stream*>(handle);
  }
  Context* context = current_context();
  if (context == nullptr) return nullptr;
  Queues& q = queues();
  const std::lock_guard lock(q.mutex);
  if (context->null_stream == nullptr) {
    context->null_stream = make_stream(q, Stream{.context = context});
  }
  return context->null_stream;
}

StreamPoint submit(Stream* stream, std::function<void()> run, std::vector<StreamPoint> after) {
  Queues& q = queues();
  const std::lock_guard lock(q.mutex);
  add_null_stream_rules(stream, &after);
  if (!std::exchange(stream->has_thread, true)) std::thread(run_stream, stream).detach();
  stream->queue.push_back({std::move(run), std::move(after)});
  q.changed.notify_all();
  return {stream, ++stream->submitted};
}

StreamPoint last_point(Stream* stream) {
  const std::lock_guard lock(queues().mutex);
  return {stream, stream->submitted};
}

void wait_for(const StreamPoint& point) {
  Queues& q = queues();
  std::unique_lock lock(q.mutex);
  q.changed.wait(lock, [&] { return reached(point); });
}

bool is_done(const StreamPoint& point) {
  const std::lock_guard lock(queues().mutex);
  return reached(point);
}

Stream* open_stream(Context* context, bool non_blocking, int priority) {
  Queues& q = queues();
  const std::lock_guard lock(q.mutex);
  return make_stream(
      q, Stream{.context = context, .non_blocking = non_blocking, .priority = priority});
}

void close_stream(Stream* stream) {
  Queues& q = queues();
  const std::lock_guard lock(q.mutex);
  stream->closing = true;
  std::erase(stream->context->streams, stream);
  q.changed.notify_all();
}

void drain(Context* context) {
  Queues& q = queues();
  std::unique_lock lock(q.mutex);
  std::vector<StreamPoint> points;
  for (Stream* stream : context->streams) add_if_busy(stream, &points);
  for (const StreamPoint& point : points) {
    q.changed.wait(lock, [&] { return reached(point); });
  }
}

}  // namespace emugpu
