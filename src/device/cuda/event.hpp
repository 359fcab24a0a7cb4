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
  CudaEvent(std::shared_ptr<const CudaContext> context, CUevent raw, EventKind kind) noexcept
      : context_(std::move(context)), raw_(raw), timed_(kind == EventKind::timed) {}
  ~CudaEvent() override {
    if (const auto scope = context_->try_enter()) (void)context_->driver().EventDestroy(raw_);
  }

  [[nodiscard]] CUevent raw() const noexcept { return raw_; }
  [[nodiscard]] bool timed() const noexcept { return timed_; }
  [[nodiscard]] const CudaContext* context() const noexcept { return context_.get(); }
  FailureMark mark{};  // as of the last record
  bool recorded = false;

 private:
  const std::shared_ptr<const CudaContext> context_;
  const CUevent raw_;
  const bool timed_;
};

}  // namespace aqua::device
