// SPDX-License-Identifier: Apache-2.0
// Carries the lists of kernels to the GPU: page-locked host memory that this thread writes, and
// device memory of the same layout that the kernel reads. A place is used again once the event
// behind its kernel is complete; nobody waits and no callback runs. Copies to the device of one
// direction run one after the other, whatever their streams, so that a list would wait behind bulk
// copies: a kernel fetches it, on a stream of the ring's own, and the kernel that reads it waits.
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
#include "device/upload_slots.hpp"

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
  // Queues the copy of what was written to the device, on a stream of the ring's own: it waits
  // for no other work but that of other kernels where these leave no SM. After an error nothing of
  // it is queued.
  [[nodiscard]] CUresult upload(const Slot& slot, std::size_t bytes);
  // What is posted to `stream` from now on finds it there.
  [[nodiscard]] CUresult await(const Slot& slot, CUstream stream);
  // Marks the slot as used by the work queued on `stream` so far. A slot is used on one stream
  // only.
  void used(const Slot& slot, CUstream stream);
  // No more work will use it: it is free again once what was queued is over.
  void release(const Slot& slot);

 private:
  enum class State : std::uint8_t { taken, released, lost };
  struct Use {
    CUevent event = nullptr;     // behind the work so far
    State state = State::taken;  // lost: its end cannot be seen; never used again
  };
  UploadRing(std::shared_ptr<const CudaContext> context, std::size_t bytes)
      : context_(std::move(context)), slots_(bytes) {}
  [[nodiscard]] CUresult record(const Slot& slot, CUstream stream);
  void reclaim() AQUA_REQUIRES(mu_);
  [[nodiscard]] CUevent free_event() AQUA_REQUIRES(mu_);

  const std::shared_ptr<const CudaContext> context_;
  void* host_ = nullptr;  // these three fixed after open()
  CUdeviceptr device_ = 0;
  CUstream stream_ = nullptr;

  Mutex mu_;
  UploadSlots slots_ AQUA_GUARDED_BY(mu_);
  std::deque<Use> uses_ AQUA_GUARDED_BY(mu_);     // of slots_, oldest first
  std::uint64_t first_ AQUA_GUARDED_BY(mu_) = 0;  // number of uses_.front()
  std::vector<CUevent> idle_events_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::device
