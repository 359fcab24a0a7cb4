// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/upload_ring.hpp"

#include "base/try.hpp"
#include "device/cuda/error.hpp"

namespace aqua::device {

Result<std::unique_ptr<UploadRing>> UploadRing::open(std::shared_ptr<const CudaContext> context,
                                                     std::size_t bytes) {
  AQUA_ASSIGN(const auto scope, context->enter());
  const CudaDriver& driver = context->driver();
  std::unique_ptr<UploadRing> ring(new UploadRing(std::move(context), bytes));
  AQUA_TRY(check(driver, driver.MemHostAlloc(&ring->host_, bytes, CU_MEMHOSTALLOC_PORTABLE),
                 "open_cuda", "cuMemHostAlloc"));
  AQUA_TRY(check(driver, driver.MemAlloc(&ring->device_, bytes), "open_cuda", "cuMemAlloc"));
  return ring;
}

UploadRing::~UploadRing() {
  const auto scope = context_->try_enter();
  if (!scope) return;
  const CudaDriver& driver = context_->driver();
  const MutexLock lock(mu_);
  for (const Use& use : uses_) {
    if (use.state == State::posted) (void)driver.EventSynchronize(use.event);
    if (use.event != nullptr) (void)driver.EventDestroy(use.event);
  }
  for (CUevent event : idle_events_) (void)driver.EventDestroy(event);
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

void UploadRing::posted(const Slot& slot, CUstream stream) {
  const CudaDriver& driver = context_->driver();
  {
    const MutexLock lock(mu_);
    Use& use = uses_[slot.number - first_];
    if (driver.EventRecord(use.event, stream) == CUDA_SUCCESS) {
      use.state = State::posted;
      return;
    }
  }
  // Rare, so it may wait here: where the stream's end can be seen, the slot is free again.
  const CUresult ended = driver.StreamSynchronize(stream);
  const bool seen = ended == CUDA_SUCCESS || code_of(ended) == Code::data_loss;
  const MutexLock lock(mu_);
  uses_[slot.number - first_].state = seen ? State::unused : State::lost;
}

void UploadRing::unused(const Slot& slot) {
  const MutexLock lock(mu_);
  uses_[slot.number - first_].state = State::unused;
}

// In order only: a slow stream holds up the places behind its own, and a full ring is no error.
void UploadRing::reclaim() {
  const auto over = [this](const Use& use) {
    return use.state == State::unused ||
           (use.state == State::posted && context_->driver().EventQuery(use.event) == CUDA_SUCCESS);
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
