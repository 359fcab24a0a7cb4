// SPDX-License-Identifier: Apache-2.0
// The primary context of one GPU, which the engine's own CUDA calls use as well, and the way to
// make it current for a few calls without the engine noticing.
//
// Threads: any; a Scope stays on its thread.
// Fork:    a child cannot use the parent's CUDA: enter() refuses, and destructors do nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "device/cuda/driver.hpp"

namespace aqua::device {

class CudaContext {
 public:
  // `ordinal` counts the GPUs that this process sees.
  [[nodiscard]] static Result<std::shared_ptr<const CudaContext>> retain(const CudaDriver& driver,
                                                                         int ordinal);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  // While it lives the context is current on this thread, and the thread may make calls that
  // another thread's graph capture would otherwise forbid or be spoilt by: none of ours
  // concerns a stream that is being captured unless the caller names it.
  class Scope {
   public:
    Scope(const CudaDriver& driver, CUcontext context) noexcept;
    Scope(Scope&& other) noexcept;
    Scope& operator=(Scope&&) = delete;
    ~Scope();
    // False when the context could not be made current: it is gone.
    [[nodiscard]] bool entered() const noexcept { return entered_; }

   private:
    const CudaDriver* driver_;
    bool pushed_ = false;
    bool entered_ = true;
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // the thread's own, to restore
  };
  // failed_precondition in a forked child; data_loss once the context is gone (the engine has
  // called cudaDeviceReset, or the process is ending).
  [[nodiscard]] Result<Scope> enter() const;
  // For destructors: nothing then.
  [[nodiscard]] std::optional<Scope> try_enter() const;

  [[nodiscard]] const CudaDriver& driver() const noexcept { return driver_; }
  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] CUdevice device() const noexcept { return device_; }
  [[nodiscard]] CUcontext raw() const noexcept { return context_; }
  [[nodiscard]] int attribute(CUdevice_attribute attribute) const noexcept;  // 0 where unknown

 private:
  CudaContext(const CudaDriver& driver, int ordinal, CUdevice device, CUcontext context);

  const CudaDriver& driver_;
  const int ordinal_;
  const CUdevice device_;
  const CUcontext context_;
  const std::uint64_t process_;  // fork_generation() of the process that retained it
};

}  // namespace aqua::device
