// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/upload_ring.hpp"

#include "base/try.hpp"
#include "device/cuda/error.hpp"
#include "kernels/copy.hpp"

namespace aqua::device {
namespace {

constexpr std::size_t kWord = 16;  // what kernels::upload() copies
static_assert(UploadSlots::kAlignment % kWord == 0);

}  // namespace

Result<std::unique_ptr<UploadRing>> UploadRing::open(std::shared_ptr<const CudaContext> context,
                                                     std::size_t bytes) {
  AQUA_ASSIGN(const auto scope, context->enter());
  const CudaDriver& driver = context->driver();
  std::unique_ptr<UploadRing> ring(new UploadRing(std::move(context), bytes));
  AQUA_TRY(check(driver, driver.MemHostAlloc(&ring->host_, bytes, CU_MEMHOSTALLOC_PORTABLE),
                 "open_cuda", "cuMemHostAlloc"));
  AQUA_TRY(check(driver, driver.MemAlloc(&ring->device_, bytes), "open_cuda", "cuMemAlloc"));
  AQUA_TRY(check(driver, driver.StreamCreate(&ring->stream_, CU_STREAM_NON_BLOCKING), "open_cuda",
                 "cuStreamCreate"));
  return ring;
}

UploadRing::~UploadRing() {
  const auto scope = context_->try_enter();
  if (!scope) return;
  const CudaDriver& driver = context_->driver();
  const MutexLock lock(mu_);
  for (const Use& use : uses_) {
    if (use.state == State::released) (void)driver.EventSynchronize(use.event);
    if (use.event != nullptr) (void)driver.EventDestroy(use.event);
  }
  for (CUevent event : idle_events_) (void)driver.EventDestroy(event);
  if (stream_ != nullptr) (void)driver.StreamDestroy(stream_);
  if (device_ != 0) (void)driver.MemFree(device_);
  if (host_ != nullptr) (void)driver.MemFreeHost(host_);
}

std::optional<UploadRing::Slot> UploadRing::take(std::size_t bytes) {
  const MutexLock lock(mu_);
  reclaim();
  CUevent event = free_event();
  if (event == nullptr) return std::nullopt;
  const auto offset = slots_.take(bytes);
  if (!offset) {
    idle_events_.push_back(event);
    return std::nullopt;
  }
  uses_.push_back({event, State::taken});
  return Slot{static_cast<std::byte*>(host_) + *offset, device_ + *offset,
              first_ + uses_.size() - 1};
}

CUresult UploadRing::upload(const Slot& slot, std::size_t bytes) {
  // A place ends at a multiple of kAlignment, and with unified addressing a GPU knows memory that
  // was allocated page-locked by the host's address.
  const std::size_t whole = (bytes + kWord - 1) / kWord * kWord;
  const auto queued = static_cast<CUresult>(
      kernels::upload(reinterpret_cast<void*>(slot.device), slot.host, whole, stream_));
  return queued == CUDA_SUCCESS ? record(slot, stream_) : queued;
}

CUresult UploadRing::await(const Slot& slot, CUstream stream) {
  CUevent event = nullptr;
  {
    const MutexLock lock(mu_);
    event = uses_[slot.number - first_].event;
  }
  return context_->driver().StreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT);
}

void UploadRing::used(const Slot& slot, CUstream stream) {
  (void)record(slot, stream);
}

CUresult UploadRing::record(const Slot& slot, CUstream stream) {
  const CudaDriver& driver = context_->driver();
  CUresult recorded = CUDA_SUCCESS;
  {
    const MutexLock lock(mu_);
    recorded = driver.EventRecord(uses_[slot.number - first_].event, stream);
    if (recorded == CUDA_SUCCESS) return recorded;
  }
  // Rare, so it may wait here: where the stream's end can be seen, nothing uses the slot any more.
  const CUresult ended = driver.StreamSynchronize(stream);
  if (ended == CUDA_SUCCESS || code_of(ended) == Code::data_loss) return recorded;
  const MutexLock lock(mu_);
  uses_[slot.number - first_].state = State::lost;
  return recorded;
}

void UploadRing::release(const Slot& slot) {
  const MutexLock lock(mu_);
  Use& use = uses_[slot.number - first_];
  if (use.state == State::taken) use.state = State::released;
}

// In order only: a slow stream holds up the places behind its own, and a full ring is no error.
void UploadRing::reclaim() {
  const auto over = [this](const Use& use) {
    return use.state == State::released && context_->driver().EventQuery(use.event) == CUDA_SUCCESS;
  };
  while (!uses_.empty() && over(uses_.front())) {
    idle_events_.push_back(uses_.front().event);
    uses_.pop_front();
    slots_.release_oldest();
    ++first_;
  }
}

CUevent UploadRing::free_event() {
  CUevent event = nullptr;
  if (!idle_events_.empty()) {
    event = idle_events_.back();
    idle_events_.pop_back();
    return event;
  }
  if (context_->driver().EventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    return nullptr;
  }
  return event;
}

}  // namespace aqua::device
