// The driver's calls for streams, events and work, which runs at once.
#include <cstring>

#include "device/stand_in/world.hpp"

namespace aqua::stand_in {
namespace {

CUresult StreamCreate(CUstream* stream, unsigned flags) {
  AQUA_ENTER("cuStreamCreate");
  if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  *stream = reinterpret_cast<CUstream>(world().last_object += 16);
  world().streams.insert(*stream);
  return CUDA_SUCCESS;
}
CUresult StreamDestroy(CUstream stream) {
  AQUA_ENTER("cuStreamDestroy");
  return world().streams.erase(stream) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult StreamSynchronize(CUstream) {
  AQUA_ENTER("cuStreamSynchronize");
  return CUDA_SUCCESS;
}
CUresult IsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  AQUA_ENTER("cuStreamIsCapturing");
  *status = world().capturing.count(stream) == 1 ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                 : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult WaitEvent(CUstream, CUevent event, unsigned) {
  AQUA_ENTER("cuStreamWaitEvent");
  return world().events.count(event) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult EventCreate(CUevent* event, unsigned flags) {
  AQUA_ENTER("cuEventCreate");
  if ((flags & CU_EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_INVALID_VALUE;
  *event = reinterpret_cast<CUevent>(world().last_object += 16);
  world().events[*event] = true;
  return CUDA_SUCCESS;
}
CUresult EventDestroy(CUevent event) {
  AQUA_ENTER("cuEventDestroy");
  return world().events.erase(event) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult EventRecord(CUevent event, CUstream) {
  AQUA_ENTER("cuEventRecord");
  world().events.at(event) = !world().stalled;
  return CUDA_SUCCESS;
}
CUresult EventQuery(CUevent event) {
  AQUA_ENTER("cuEventQuery");
  return world().events.at(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult EventSynchronize(CUevent event) {
  AQUA_ENTER("cuEventSynchronize");
  return world().events.at(event) ? CUDA_SUCCESS : CUDA_ERROR_TIMEOUT;  // it would never end
}

// Pitfall 11: a command may not reach across the end of a registration.
bool straddles(Address address, std::size_t bytes) {
  for (const auto& [begin, end] : world().registrations) {
    if ((address < begin && begin < address + bytes) || (address < end && end < address + bytes)) {
      return true;
    }
  }
  return false;
}
CUresult copy(CUdeviceptr dst, CUdeviceptr src, std::size_t bytes) {
  if (bytes == 0 || straddles(dst, bytes) || straddles(src, bytes)) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(reinterpret_cast<void*>(dst), reinterpret_cast<const void*>(src), bytes);
  return CUDA_SUCCESS;
}
CUresult MemcpyAsync(CUdeviceptr dst, CUdeviceptr src, std::size_t bytes, CUstream) {
  AQUA_ENTER("cuMemcpyAsync");
  return copy(dst, src, bytes);
}
CUresult MemcpyBatch(CUdeviceptr* dst, CUdeviceptr* src, std::size_t* bytes, std::size_t count,
                     CUmemcpyAttributes* attributes, std::size_t* first, std::size_t kinds,
                     std::size_t* failed, CUstream stream) {
  AQUA_ENTER("cuMemcpyBatchAsync");
  const bool ordered =
      kinds == 1 && *first == 0 && attributes->srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  if (stream == nullptr || !ordered) return CUDA_ERROR_INVALID_VALUE;
  if (world().capturing.count(stream) == 1) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  for (*failed = 0; *failed < count; ++*failed) {
    const CUresult copied = copy(dst[*failed], src[*failed], bytes[*failed]);
    if (copied != CUDA_SUCCESS) return copied;
  }
  return CUDA_SUCCESS;
}
CUresult MemsetD8(CUdeviceptr dst, unsigned char value, std::size_t bytes, CUstream) {
  AQUA_ENTER("cuMemsetD8Async");
  std::memset(reinterpret_cast<void*>(dst), value, bytes);
  return CUDA_SUCCESS;
}
CUresult MemsetD32(CUdeviceptr dst, unsigned, std::size_t words, CUstream) {
  AQUA_ENTER("cuMemsetD32Async");
  if (dst % 4 != 0) return CUDA_ERROR_INVALID_VALUE;
  std::memset(reinterpret_cast<void*>(dst), 0, 4 * words);
  return CUDA_SUCCESS;
}

}  // namespace

void* stream_function(const std::string& name) {
  static const std::map<std::string, void*> functions{
      {"cuStreamCreate", reinterpret_cast<void*>(StreamCreate)},
      {"cuStreamDestroy", reinterpret_cast<void*>(StreamDestroy)},
      {"cuStreamSynchronize", reinterpret_cast<void*>(StreamSynchronize)},
      {"cuStreamIsCapturing", reinterpret_cast<void*>(IsCapturing)},
      {"cuStreamWaitEvent", reinterpret_cast<void*>(WaitEvent)},
      {"cuEventCreate", reinterpret_cast<void*>(EventCreate)},
      {"cuEventDestroy", reinterpret_cast<void*>(EventDestroy)},
      {"cuEventRecord", reinterpret_cast<void*>(EventRecord)},
      {"cuEventQuery", reinterpret_cast<void*>(EventQuery)},
      {"cuEventSynchronize", reinterpret_cast<void*>(EventSynchronize)},
      {"cuMemcpyAsync", reinterpret_cast<void*>(MemcpyAsync)},
      {"cuMemcpyBatchAsync", reinterpret_cast<void*>(MemcpyBatch)},
      {"cuMemsetD8Async", reinterpret_cast<void*>(MemsetD8)},
      {"cuMemsetD32Async", reinterpret_cast<void*>(MemsetD32)}};
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace aqua::stand_in
