// SPDX-License-Identifier: Apache-2.0
// The driver's error numbers as our codes: what the caller does next.
#pragma once

#include <string>

#include "device/cuda/driver.hpp"

namespace aqua::device {

// data_loss for what is sticky or means dead memory: the context answers nothing else any more.
[[nodiscard]] Code code_of(CUresult result) noexcept;

// "cuMemCreate: out of memory (CUDA_ERROR_OUT_OF_MEMORY)"
[[nodiscard]] std::string describe(const CudaDriver& driver, const char* call, CUresult result);

// Success, or the Error for `call`; `what` names the operation of ours.
[[nodiscard]] Result<void> check(const CudaDriver& driver, CUresult result, const char* what,
                                 const char* call);

}  // namespace aqua::device
