// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/context.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/fork_guard.hpp"
#include "base/try.hpp"
#include "device/cuda/error.hpp"

namespace aqua::device {

CudaContext::Scope::Scope(const CudaDriver& driver, CUcontext context) noexcept : driver_(&driver) {
  CUcontext current = nullptr;
  if (driver.CtxGetCurrent(&current) != CUDA_SUCCESS || current != context) {
    pushed_ = driver.CtxPushCurrent(context) == CUDA_SUCCESS;
    entered_ = pushed_;
  }
  (void)driver.ThreadExchangeStreamCaptureMode(&mode_);
}

CudaContext::Scope::Scope(Scope&& other) noexcept
    : driver_(std::exchange(other.driver_, nullptr)),
      pushed_(other.pushed_),
      entered_(other.entered_),
      mode_(other.mode_) {}

CudaContext::Scope::~Scope() {
  if (driver_ == nullptr) return;
  (void)driver_->ThreadExchangeStreamCaptureMode(&mode_);
  CUcontext popped = nullptr;
  if (pushed_) (void)driver_->CtxPopCurrent(&popped);
}

Result<std::shared_ptr<const CudaContext>> CudaContext::retain(const CudaDriver& driver,
                                                               int ordinal) {
  CUdevice device = 0;
  if (driver.DeviceGet(&device, ordinal) != CUDA_SUCCESS) {
    int devices = 0;
    (void)driver.DeviceGetCount(&devices);
    return Error{Code::not_found,
                 concat("device cuda:", ordinal, ": this process sees ", devices, " GPUs")};
  }
  CUcontext context = nullptr;
  AQUA_TRY(check(driver, driver.DevicePrimaryCtxRetain(&context, device), "open_cuda",
                 "cuDevicePrimaryCtxRetain"));
  return std::shared_ptr<const CudaContext>(new CudaContext(driver, ordinal, device, context));
}

CudaContext::CudaContext(const CudaDriver& driver, int ordinal, CUdevice device, CUcontext context)
    : driver_(driver),
      ordinal_(ordinal),
      device_(device),
      context_(context),
      process_(fork_generation()) {}

CudaContext::~CudaContext() {
  if (fork_generation() == process_) (void)driver_.DevicePrimaryCtxRelease(device_);
}

Result<CudaContext::Scope> CudaContext::enter() const {
  if (fork_generation() != process_) {
    return Error{Code::failed_precondition,
                 concat("cuda:", ordinal_,
                        " was opened by the parent process, and CUDA does not survive fork(); open "
                        "it in the child, before anything else there uses CUDA")};
  }
  Scope scope(driver_, context_);
  if (scope.entered()) return scope;
  return Error{Code::data_loss,
               concat("cuda:", ordinal_, ": its context is gone, and all memory with it")};
}

std::optional<CudaContext::Scope> CudaContext::try_enter() const {
  if (fork_generation() != process_) return std::nullopt;
  Scope scope(driver_, context_);
  if (!scope.entered()) return std::nullopt;
  return scope;
}

int CudaContext::attribute(CUdevice_attribute attribute) const noexcept {
  int value = 0;
  if (driver_.DeviceGetAttribute(&value, attribute, device_) != CUDA_SUCCESS) return 0;
  return value;
}

}  // namespace aqua::device
