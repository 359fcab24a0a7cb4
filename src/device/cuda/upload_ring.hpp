// SPDX-License-Identifier: Apache-2.0
// Carries the lists of kernels to the GPU: page-locked host memory that this thread writes, and
// device memory of the same layout that the kernel reads. A place is used again once the event
// behind its kernel is complete; nobody waits and no callback runs.
//
// Threads: any. Its calls are made inside a CudaContext::Scope; opening and closing make their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.hpp"
#include "device/cuda/context.hpp"
#include "device/cuda/upload_slots.hpp"

namespace aqua::device {

class UploadRing {
 public:
  struct Slot {
    std::byte* host = nullptr;
    CUdeviceptr device = 0;
    std::uint64_t number = 0;
  };

  [[nodiscard]] static Result<std::unique_ptr<UploadRing>> open(
      std::shared_ptr<const CudaContext> context, std::size_t bytes);
  // Waits for the kernels that read from it.
  ~UploadRing();

  // Nothing while the ring is full: the caller goes another way.
  [[nodiscard]] std::optional<Slot> take(std::size_t bytes);
  // All work that uses the slot is queued on `stream`.
  void posted(const Slot& slot, CUstream stream);
  // Nothing was queued: the slot is free again.
  void unused(const Slot& slot);

 private:
  enum class State : std::uint8_t { taken, posted, unused, lost };
  struct Use {
    CUevent event = nullptr;
    State state = State::taken;  // lost: its end cannot be seen; never used again
  };
  UploadRing(std::shared_ptr<const CudaContext> context, std::size_t bytes)
      : context_(std::move(context)), slots_(bytes) {}
  void reclaim() AQUA_REQUIRES(mu_);
  [[nodiscard]] CUevent free_event() AQUA_REQUIRES(mu_);

  const std::shared_ptr<const CudaContext> context_;
  void* host_ = nullptr;  // these two fixed after open()
  CUdeviceptr device_ = 0;

  Mutex mu_;
  UploadSlots slots_ AQUA_GUARDED_BY(mu_);
  std::deque<Use> uses_ AQUA_GUARDED_BY(mu_);     // of slots_, oldest first
  std::uint64_t first_ AQUA_GUARDED_BY(mu_) = 0;  // number of uses_.front()
  std::vector<CUevent> idle_events_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::device
