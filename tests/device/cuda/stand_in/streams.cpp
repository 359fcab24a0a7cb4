// SPDX-License-Identifier: Apache-2.0
// The driver's calls for streams and events.
#include "tests/device/cuda/stand_in/world.hpp"

namespace aqua::stand_in {
namespace {

CUresult StreamCreate(CUstream* stream, unsigned flags) {
  AQUA_ENTER("cuStreamCreate");
  World& w = world();
  if (flags != CU_STREAM_NON_BLOCKING) {
    complain("cuStreamCreate: blocking streams, which the legacy stream waits for, are not here");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (w.freed.empty()) {
    *stream = reinterpret_cast<CUstream>(w.last_object += 16);
  } else {
    *stream = w.freed.back();
    w.freed.pop_back();
  }
  w.queues.push_back(w.streams[*stream] = std::make_shared<Queue>(current_context()));
  return CUDA_SUCCESS;
}
CUresult StreamDestroy(CUstream stream) {
  AQUA_ENTER("cuStreamDestroy");
  World& w = world();
  const auto found = w.streams.find(stream);
  if (found == w.streams.end()) return CUDA_ERROR_INVALID_HANDLE;
  found->second->destroyed = true;  // its work runs all the same
  if (found->second->tasks.empty()) std::erase(w.queues, found->second);
  w.streams.erase(found);
  w.freed.push_back(stream);
  return CUDA_SUCCESS;
}
CUresult StreamSynchronize(CUstream stream) {
  AQUA_ENTER("cuStreamSynchronize");
  std::shared_ptr<Queue> queue;
  if (const CUresult refused = find_queue(stream, &queue)) return refused;
  if (queue->capture == Capture::active) {
    queue->capture = Capture::invalid;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return finish(lock, queue);
}
CUresult IsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  AQUA_ENTER("cuStreamIsCapturing");
  std::shared_ptr<Queue> queue;
  const CUresult refused = find_queue(stream, &queue);
  if (refused != CUDA_SUCCESS && refused != CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) return refused;
  *status = queue->capture == Capture::none     ? CU_STREAM_CAPTURE_STATUS_NONE
            : queue->capture == Capture::active ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  return CUDA_SUCCESS;
}
CUresult GetContext(CUstream stream, CUcontext* context, CUgreenCtx* green) {
  AQUA_ENTER("cuStreamGetCtx");
  std::shared_ptr<Queue> queue;
  if (find_queue(stream, &queue) == CUDA_ERROR_INVALID_HANDLE) return CUDA_ERROR_INVALID_HANDLE;
  *context = queue->context;
  *green = nullptr;
  return CUDA_SUCCESS;
}
CUresult WaitEvent(CUstream stream, CUevent event, unsigned) {
  AQUA_ENTER("cuStreamWaitEvent");
  std::shared_ptr<Queue> queue;
  if (const CUresult refused = find_queue(stream, &queue)) return refused;
  const auto found = world().events.find(event);
  if (found == world().events.end()) return CUDA_ERROR_INVALID_HANDLE;
  const EventState& state = found->second;
  if (state.captured) {
    if (!world().capturing) return CUDA_ERROR_CAPTURED_EVENT;
    if (stream == nullptr) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    queue->capture = Capture::active;  // it joins
    return CUDA_SUCCESS;
  }
  if (state.point == nullptr) return CUDA_SUCCESS;  // never recorded: nothing to wait for
  if (queue->capture == Capture::active) {
    queue->capture = Capture::invalid;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  return post(lock, queue, {.wait = state.point});
}

CUresult EventCreate(CUevent* event, unsigned flags) {
  AQUA_ENTER("cuEventCreate");
  *event = reinterpret_cast<CUevent>(world().last_object += 16);
  world().events[*event] = {.timed = (flags & CU_EVENT_DISABLE_TIMING) == 0,
                            .context = current_context()};
  return CUDA_SUCCESS;
}
CUresult EventDestroy(CUevent event) {
  AQUA_ENTER("cuEventDestroy");  // waits for it hold its point
  return world().events.erase(event) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult EventRecord(CUevent event, CUstream stream) {
  AQUA_ENTER("cuEventRecord");
  std::shared_ptr<Queue> queue;
  if (const CUresult refused = find_queue(stream, &queue)) return refused;
  const auto found = world().events.find(event);
  if (found == world().events.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (found->second.context != queue->context) return CUDA_ERROR_INVALID_HANDLE;
  if (queue->capture == Capture::active) {
    found->second.point = nullptr;
    found->second.captured = true;
    return CUDA_SUCCESS;
  }
  const auto point = std::make_shared<Point>(Point{.queue = queue});
  if (const CUresult refused = post(lock, queue, {.record = point})) return refused;
  found->second.point = point;
  found->second.captured = false;
  return CUDA_SUCCESS;
}
CUresult EventQuery(CUevent event) {
  AQUA_ENTER("cuEventQuery");
  const auto found = world().events.find(event);
  if (found == world().events.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (found->second.captured) return CUDA_ERROR_CAPTURED_EVENT;
  const auto point = found->second.point;
  if (point == nullptr) return CUDA_SUCCESS;
  return query(*point) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult EventElapsed(float* milliseconds, CUevent start, CUevent end) {
  AQUA_ENTER("cuEventElapsedTime");
  const auto first = world().events.find(start);
  const auto last = world().events.find(end);
  if (first == world().events.end() || last == world().events.end() || !first->second.timed ||
      !last->second.timed || first->second.point == nullptr || last->second.point == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (!query(*first->second.point) || !query(*last->second.point)) return CUDA_ERROR_NOT_READY;
  const auto ns = static_cast<std::int64_t>(last->second.point->at_ns - first->second.point->at_ns);
  *milliseconds = static_cast<float>(static_cast<double>(ns) / 1e6);
  return CUDA_SUCCESS;
}
CUresult EventSynchronize(CUevent event) {
  AQUA_ENTER("cuEventSynchronize");
  const auto found = world().events.find(event);
  if (found == world().events.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (found->second.captured) return CUDA_ERROR_CAPTURED_EVENT;
  const auto point = found->second.point;
  return point == nullptr ? CUDA_SUCCESS : reach(lock, point);
}

}  // namespace

void* stream_function(const std::string& name) {
  static const std::map<std::string, void*> functions{
      {"cuStreamCreate", reinterpret_cast<void*>(StreamCreate)},
      {"cuStreamDestroy", reinterpret_cast<void*>(StreamDestroy)},
      {"cuStreamSynchronize", reinterpret_cast<void*>(StreamSynchronize)},
      {"cuStreamIsCapturing", reinterpret_cast<void*>(IsCapturing)},
      {"cuStreamGetCtx", reinterpret_cast<void*>(GetContext)},
      {"cuStreamWaitEvent", reinterpret_cast<void*>(WaitEvent)},
      {"cuEventCreate", reinterpret_cast<void*>(EventCreate)},
      {"cuEventDestroy", reinterpret_cast<void*>(EventDestroy)},
      {"cuEventRecord", reinterpret_cast<void*>(EventRecord)},
      {"cuEventQuery", reinterpret_cast<void*>(EventQuery)},
      {"cuEventSynchronize", reinterpret_cast<void*>(EventSynchronize)},
      {"cuEventElapsedTime", reinterpret_cast<void*>(EventElapsed)}};
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace aqua::stand_in
