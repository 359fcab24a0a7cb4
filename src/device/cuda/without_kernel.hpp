// SPDX-License-Identifier: Apache-2.0
// What the CUDA runtime answers where a build has no kernel for a GPU.
#pragma once

#include <algorithm>
#include <array>

namespace aqua::device {

// `error`: a cudaError_t. Any other than these may pass, or is somebody else's failure.
[[nodiscard]] constexpr bool without_kernel(int error) noexcept {
  constexpr std::array kErrors{
      35,   // cudaErrorInsufficientDriver
      98,   // cudaErrorInvalidDeviceFunction
      209,  // cudaErrorNoKernelImageForDevice
      218,  // cudaErrorInvalidPtx
      221,  // cudaErrorJitCompilerNotFound
      222,  // cudaErrorUnsupportedPtxVersion
  };
  return std::ranges::find(kErrors, error) != kErrors.end();
}

}  // namespace aqua::device
