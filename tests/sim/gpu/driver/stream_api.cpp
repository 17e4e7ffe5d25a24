// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// cuStream*, cuEvent*, host functions, and the capture state, which is always "not capturing".
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "tests/sim/gpu/driver/context.h"
#include "tests/sim/gpu/driver/cuda_public.h"
#include "tests/sim/gpu/driver/log.h"
#include "tests/sim/gpu/driver/stream.h"

using namespace emugpu;

namespace {

using Clock = std::chrono::steady_clock;

struct Event {
  StreamPoint point;
  // Outlives the event, which may be destroyed while the work that sets it still waits.
  std::shared_ptr<std::atomic<Clock::rep>> time;
};

Event* event_of(CUevent handle) { return reinterpret_cast<Event*>(handle); }

}  // namespace

CUresult cuStreamCreateWithPriority(CUstream* out, unsigned flags, int priority) {
  trace(__func__);
  Context* context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const bool non_blocking = (flags & CU_STREAM_NON_BLOCKING) != 0;
  *out = reinterpret_cast<CUstream>(open_stream(context, non_blocking, priority));
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* out, unsigned flags) {
  return cuStreamCreateWithPriority(out, flags, 0);
}

CUresult cuStreamDestroy(CUstream handle) {
  trace(__func__);
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  close_stream(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream handle) {
  trace(__func__);
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  wait_for(submit(stream, nullptr));
  return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream handle) {
  trace(__func__);
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return is_done(last_point(stream)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  trace(__func__);
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *priority = stream->priority;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  trace(__func__);
  const Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *id = reinterpret_cast<std::uintptr_t>(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned) {
  trace(__func__);
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const StreamPoint point = event_of(event)->point;
  if (point.stream != nullptr) submit(stream, nullptr, {point});
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  trace(__func__);
  Context* context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  drain(context);
  return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* argument) {
  trace(__func__);
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  submit(stream, [=] { function(argument); });
  return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  trace(__func__);
  static thread_local CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(t_mode, *mode);
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* out, unsigned) {
  trace(__func__);
  *out = reinterpret_cast<CUevent>(std::make_unique<Event>().release());
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
  trace(__func__);
  const std::unique_ptr<Event> owner(event_of(event));
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent handle, CUstream stream_handle) {
  trace(__func__);
  Stream* stream = stream_of(stream_handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  auto time = std::make_shared<std::atomic<Clock::rep>>(0);
  const auto stamp = [time] { *time = Clock::now().time_since_epoch().count(); };
  Event* event = event_of(handle);
  event->time = time;
  event->point = submit(stream, stamp);
  return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event) {
  trace(__func__);
  const StreamPoint point = event_of(event)->point;
  return point.stream == nullptr || is_done(point) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent event) {
  trace(__func__);
  const StreamPoint point = event_of(event)->point;
  if (point.stream != nullptr) wait_for(point);
  return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  trace(__func__);
  const Event* a = event_of(from);
  const Event* b = event_of(to);
  if (a->point.stream == nullptr || b->point.stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!is_done(a->point) || !is_done(b->point)) return CUDA_ERROR_NOT_READY;
  const Clock::duration passed(b->time->load() - a->time->load());
  *milliseconds = std::chrono::duration<float, std::milli>(passed).count();
  return CUDA_SUCCESS;
}
