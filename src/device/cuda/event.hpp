// SPDX-License-Identifier: Apache-2.0
// A CUevent, and what the work before its last record has to report that CUDA does not know.
#pragma once

#include <memory>
#include <utility>

#include "device/cuda/context.hpp"
#include "device/cuda/post_failures.hpp"
#include "device/device.hpp"

namespace aqua::device {

class CudaEvent final : public Event {
 public:
  CudaEvent(std::shared_ptr<const CudaContext> context, CUevent raw) noexcept
      : context_(std::move(context)), raw_(raw) {}
  ~CudaEvent() override {
    if (const auto scope = context_->try_enter()) (void)context_->driver().EventDestroy(raw_);
  }

  [[nodiscard]] CUevent raw() const noexcept { return raw_; }
  FailureMark mark{};  // as of the last record

 private:
  const std::shared_ptr<const CudaContext> context_;
  const CUevent raw_;
};

}  // namespace aqua::device
