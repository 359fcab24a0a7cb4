// SPDX-License-Identifier: Apache-2.0
// The CUDA device of a build without CUDA.
#include "device/cuda/device.hpp"

namespace aqua::device {
namespace {

Error none() {
  return Error{Code::unimplemented,
               "this libaqua was built without CUDA (AQUA_CUDA=OFF); use emu:N, or build with "
               "AQUA_CUDA=ON"};
}

}  // namespace

Result<std::unique_ptr<Device>> open_cuda(const CudaOptions&) {
  return none();
}
Result<void> cuda_available() {
  return none();
}

}  // namespace aqua::device
