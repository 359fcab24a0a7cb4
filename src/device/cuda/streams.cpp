// SPDX-License-Identifier: Apache-2.0
// CudaDevice's streams and events.
#include <cmath>
#include <memory>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/cuda/device_impl.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/event.hpp"

namespace aqua::device {
namespace {

// What a call says of an event. One whose context has been reset under it will never be
// reached: that is the loss of what it stood for, not a wrong question to be asked again.
Result<void> check_event(const CudaDriver& driver, CUresult result, const char* call) {
  switch (result) {
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
      return Error{Code::data_loss, concat("event: ", describe(driver, call, result))};
    default:
      return check(driver, result, "event", call);
  }
}

// A context that was reset has taken all work with it.
Result<void> check_stream_call(const CudaDriver& driver, CUresult result, const char* what,
                               const char* call) {
  if (result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_NOT_INITIALIZED ||
      result == CUDA_ERROR_DEINITIALIZED) {
    return Error{Code::data_loss, concat(what, ": ", describe(driver, call, result))};
  }
  return check(driver, result, what, call);
}

// The context in which the stream was created; of a green context's stream the primary one. Drivers
// before 12.5 name the green one.
CUresult context_of(const CudaDriver& driver, CUstream stream, CUcontext* context) {
  CUgreenCtx green = nullptr;
  if (driver.StreamGetCtx_v2 != nullptr) return driver.StreamGetCtx_v2(stream, context, &green);
  return driver.StreamGetCtx(stream, context);
}

}  // namespace

CudaDevice::~CudaDevice() {
  const auto scope = parts_.context->try_enter();
  if (!scope) return;
  const MutexLock lock(mu_);
  for (const std::uintptr_t raw : streams_) {
    (void)driver().StreamSynchronize(native(Stream{raw}));
    (void)driver().StreamDestroy(native(Stream{raw}));
  }
}

Result<Stream> CudaDevice::create_stream() {
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  CUstream raw = nullptr;
  // Non-blocking: the legacy default stream of an engine must not wait for ours, nor we for it.
  AQUA_TRY(check(driver(), driver().StreamCreate(&raw, CU_STREAM_NON_BLOCKING), "create_stream",
                 "cuStreamCreate"));
  const Stream stream{reinterpret_cast<std::uintptr_t>(raw)};
  const MutexLock lock(mu_);
  streams_.insert(stream.native);
  return stream;
}

Result<void> CudaDevice::destroy_stream(Stream stream) {
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  {
    const MutexLock lock(mu_);
    if (streams_.erase(stream.native) == 0) {
      return Error{Code::invalid_argument,
                   concat("destroy_stream: ", stream.native, " was not created by this device")};
    }
  }
  const CUresult ended = driver().StreamSynchronize(native(stream));
  const CUresult destroyed = driver().StreamDestroy(native(stream));
  failures_.forget(stream);  // the driver may give the next stream the same handle
  // A failure of its work is the events' to report; the stream is gone all the same.
  if (code_of(ended) == Code::data_loss) return {};
  AQUA_TRY(check(driver(), ended, "destroy_stream", "cuStreamSynchronize"));
  return check(driver(), destroyed, "destroy_stream", "cuStreamDestroy");
}

Result<std::unique_ptr<Event>> CudaDevice::create_event(EventKind kind) {
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  CUevent raw = nullptr;
  const unsigned timing = kind == EventKind::timed ? 0 : CU_EVENT_DISABLE_TIMING;
  AQUA_TRY(check(driver(), driver().EventCreate(&raw, timing | CU_EVENT_BLOCKING_SYNC),
                 "create_event", "cuEventCreate"));
  return std::unique_ptr<Event>(new CudaEvent(parts_.context, raw, kind));
}

Result<void> CudaDevice::record(Event& event, Stream stream) {
  auto* cuda = dynamic_cast<CudaEvent*>(&event);
  if (cuda == nullptr || cuda->context() != parts_.context.get())
    return not_ours("record", "event");
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  AQUA_TRY(check_stream_call(driver(), driver().EventRecord(cuda->raw(), native(stream)), "record",
                             "cuEventRecord"));
  cuda->mark = failures_.unreported(stream);
  cuda->recorded = true;
  return {};
}

Result<void> CudaDevice::wait_event(Stream stream, const Event& event) {
  const auto* cuda = dynamic_cast<const CudaEvent*>(&event);
  if (cuda == nullptr) return not_ours("wait_event", "event");
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  return check(driver(),
               driver().StreamWaitEvent(native(stream), cuda->raw(), CU_EVENT_WAIT_DEFAULT),
               "wait_event", "cuStreamWaitEvent");
}

Result<bool> CudaDevice::query(const Event& event) {
  const auto* cuda = dynamic_cast<const CudaEvent*>(&event);
  if (cuda == nullptr || cuda->context() != parts_.context.get()) return not_ours("query", "event");
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  const CUresult reached = driver().EventQuery(cuda->raw());
  if (reached == CUDA_ERROR_NOT_READY) return false;
  AQUA_TRY(check_event(driver(), reached, "cuEventQuery"));
  if (cuda->mark.failure == 0) return true;
  cuda->mark.log->report(cuda->mark.failure);
  return Error{Code::data_loss, "event: a copy before it could not be queued to its end"};
}

Result<void> CudaDevice::synchronize(const Event& event) {
  const auto* cuda = dynamic_cast<const CudaEvent*>(&event);
  if (cuda == nullptr || cuda->context() != parts_.context.get())
    return not_ours("synchronize", "event");
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  AQUA_TRY(check_event(driver(), driver().EventSynchronize(cuda->raw()), "cuEventSynchronize"));
  AQUA_TRY(query(event));
  return {};
}

std::uint64_t CudaDevice::latest_failure(const Event& event) const {
  const auto* cuda = dynamic_cast<const CudaEvent*>(&event);
  return cuda == nullptr ? 0 : cuda->mark.latest;
}

Result<std::chrono::nanoseconds> CudaDevice::elapsed(const Event& start, const Event& end) {
  const auto* first = dynamic_cast<const CudaEvent*>(&start);
  const auto* last = dynamic_cast<const CudaEvent*>(&end);
  for (const CudaEvent* event : {first, last}) {
    if (event == nullptr || event->context() != parts_.context.get())
      return not_ours("elapsed", "event");
    AQUA_TRY(check_timed(event->timed(), event->recorded));
  }
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  float milliseconds = 0;
  const CUresult asked = driver().EventElapsedTime(&milliseconds, first->raw(), last->raw());
  if (asked == CUDA_ERROR_NOT_READY) return not_reached();
  AQUA_TRY(check_event(driver(), asked, "cuEventElapsedTime"));
  return std::chrono::nanoseconds(std::llround(static_cast<double>(milliseconds) * 1e6));
}

Result<void> CudaDevice::synchronize(Stream stream) {
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  return check_stream_call(driver(), driver().StreamSynchronize(native(stream)), "synchronize",
                           "cuStreamSynchronize");
}

Result<void> CudaDevice::check_stream(Stream stream) const {
  if (native(stream) == CU_STREAM_PER_THREAD) {
    return Error{Code::invalid_argument,
                 "cudaStreamPerThread is another stream on every thread; create one and name that"};
  }
  AQUA_TRY(Device::check_stream(stream));
  if (is_legacy(stream)) return {};  // that of whichever context is current
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  CUcontext context = nullptr;
  AQUA_TRY(check_stream_call(driver(), context_of(driver(), native(stream), &context),
                             "check_stream", "cuStreamGetCtx"));
  if (context == parts_.context->raw()) return {};
  // Copies would be queued there, but no event of ours can be recorded behind them.
  return Error{Code::invalid_argument,
               concat("the stream is not of the primary context of ", info().name)};
}

bool CudaDevice::capturing(Stream stream) const noexcept {
  const auto scope = parts_.context->try_enter();
  if (!scope) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult asked = driver().StreamIsCapturing(native(stream), &status);
  // The legacy stream while another one captures: what is posted there would spoil the graph.
  if (asked == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
  return asked == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace aqua::device
