// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Streams, events and capture. Nothing is ever captured: asking is answered, starting is refused.
#include "tests/sim/gpu/runtime/runtime.h"

using namespace emugpu::runtime;

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned flags, int priority) {
  return forward(cuStreamCreateWithPriority, out, flags, priority);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags) {
  return cudaStreamCreateWithPriority(out, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* out) { return cudaStreamCreateWithPriority(out, 0, 0); }

cudaError_t cudaStreamDestroy(cudaStream_t stream) { return forward(cuStreamDestroy, stream); }

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return forward(cuStreamGetId, stream, id);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return forward(cuStreamSynchronize, stream);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) { return forward(cuStreamQuery, stream); }

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return forward(cuStreamWaitEvent, stream, event, flags);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  return forward(cuLaunchHostFunc, stream, function, argument);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned flags) {
  return forward(cuEventCreate, out, flags);
}
cudaError_t cudaEventCreate(cudaEvent_t* out) { return cudaEventCreateWithFlags(out, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event) { return forward(cuEventDestroy, event); }

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return forward(cuEventRecord, event, stream);
}

cudaError_t cudaEventQuery(cudaEvent_t event) { return forward(cuEventQuery, event); }

cudaError_t cudaEventSynchronize(cudaEvent_t event) { return forward(cuEventSynchronize, event); }

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  return forward(cuEventElapsedTime, milliseconds, from, to);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static_assert(static_cast<int>(cudaStreamCaptureModeRelaxed) ==
                static_cast<int>(CU_STREAM_CAPTURE_MODE_RELAXED));
  return forward(cuThreadExchangeStreamCaptureMode, reinterpret_cast<CUstreamCaptureMode*>(mode));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t, cudaStreamCaptureStatus* status,
                                        unsigned long long*, cudaGraph_t*, const cudaGraphNode_t**,
                                        std::size_t*) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t, cudaStreamCaptureStatus* status,
                                        unsigned long long*, cudaGraph_t*, const cudaGraphNode_t**,
                                        const cudaGraphEdgeData**, std::size_t*) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) { return refuse(__func__); }
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) { return refuse(__func__); }

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t, cudaGraphNode_t*, std::size_t,
                                                unsigned) {
  return refuse(__func__);
}
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*,
                                        std::size_t, cudaEvent_t) {
  return refuse(__func__);
}
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*,
                                      std::size_t, cudaEvent_t) {
  return refuse(__func__);
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, std::size_t,
                                 const cudaHostNodeParams*) {
  return refuse(__func__);
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*,
                                   std::size_t, const cudaKernelNodeParams*) {
  return refuse(__func__);
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t*, const cudaGraphNode_t*,
                                     std::size_t) {
  return refuse(__func__);
}
cudaError_t cudaStreamUpdateCaptureDependencies_v2(cudaStream_t, cudaGraphNode_t*,
                                                   const cudaGraphEdgeData*, std::size_t,
                                                   unsigned) {
  return refuse(__func__);
}
cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t, const cudaGraphNode_t*, const cudaGraphNode_t*,
                                        const cudaGraphEdgeData*, std::size_t) {
  return refuse(__func__);
}
cudaError_t cudaUserObjectCreate(cudaUserObject_t*, void*, cudaHostFn_t, unsigned, unsigned) {
  return refuse(__func__);
}
cudaError_t cudaGraphRetainUserObject(cudaGraph_t, cudaUserObject_t, unsigned, unsigned) {
  return refuse(__func__);
}
