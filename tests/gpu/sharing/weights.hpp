// SPDX-License-Identifier: Apache-2.0
// The weights of these checks: published, attached, and compared byte for byte.
//
// Threads: one.
#pragma once

#include "aqua/runtime.hpp"
#include "aqua/sharing/shared_weights.hpp"
#include "tests/gpu/first_contact/gpu.hpp"
#include "tests/gpu/sharing/copy.hpp"

namespace aqua::sharing_contact {

[[nodiscard]] Result<Runtime> open_runtime();  // on the first GPU
// Version N has the bytes of seed N.
[[nodiscard]] Result<void> publish(unsigned version);
[[nodiscard]] Result<sharing::SharedWeights> attach(Runtime& runtime);  // the newest version
// By copies of the driver's and by digests. data_loss names the first tensor of which a byte is not
// this version's.
[[nodiscard]] Result<void> compare(const first_contact::Gpu& gpu, sharing::SharedWeights& weights,
                                   unsigned version);

// Takes memory of the GPU and fills it: what was wrongly free before is overwritten by this.
[[nodiscard]] Result<void> fill_other_memory(const first_contact::Gpu& gpu);

// The first tensor as a kernel reads it: copied to memory of this process's own.
class WeightsByKernel {
 public:
  [[nodiscard]] static Result<WeightsByKernel> prepare(const first_contact::Gpu& gpu,
                                                       const sharing::SharedWeights& weights);
  [[nodiscard]] Result<void> queue(const first_contact::Gpu& gpu, CUstream stream) const {
    return copy_.queue(gpu, stream);
  }
  // So that nothing of an earlier run is taken for this one's.
  [[nodiscard]] Result<void> clear(const first_contact::Gpu& gpu) const;
  // data_loss: the kernel has not read this version's bytes.
  [[nodiscard]] Result<void> compare(const first_contact::Gpu& gpu, unsigned version) const;
  [[nodiscard]] Result<void> run_and_compare(const first_contact::Gpu& gpu, unsigned version) const;

 private:
  WeightsByKernel(KernelCopy copy, CUdeviceptr out, std::size_t bytes)
      : copy_(copy), out_(out), bytes_(bytes) {}
  KernelCopy copy_;
  CUdeviceptr out_;
  std::size_t bytes_;
};

}  // namespace aqua::sharing_contact
