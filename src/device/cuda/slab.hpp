// SPDX-License-Identifier: Apache-2.0
// Physical memory of a GPU, or of another process's. The driver has no seal: that nobody writes
// what is sealed is kept here, for mappings of this library alone.
//
// Fork: in a child the destructor does nothing; the memory is the parent's.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "base/unique_fd.hpp"
#include "device/cuda/context.hpp"
#include "device/device.hpp"
#include "device/seal_state.hpp"
#include "device/slab_budget.hpp"

namespace aqua::device {

class CudaSlab final : public Slab {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Slab>> create(
      std::shared_ptr<const CudaContext> context, std::shared_ptr<SlabBudget> budget,
      std::size_t bytes, SlabUse use);
  // The memory behind a descriptor, which stays the caller's. invalid_argument unless it is a GPU's
  // and of exactly `bytes`; failed_precondition when our GPU cannot reach that one.
  [[nodiscard]] static Result<std::unique_ptr<Slab>> import(
      std::shared_ptr<const CudaContext> context, int fd, std::size_t bytes,
      std::size_t granularity, SlabUse use);
  ~CudaSlab() override;

  // See Device.
  [[nodiscard]] Result<void> seal();
  [[nodiscard]] const SealState& state() const noexcept { return state_; }
  // How many mappings of this process may write it; those who map it count. May outlive the slab.
  using Writers = std::shared_ptr<std::atomic<std::size_t>>;
  [[nodiscard]] const Writers& writers() const noexcept { return writers_; }

  [[nodiscard]] CUmemGenericAllocationHandle handle() const noexcept { return handle_; }
  // The owner's budget; null for an import.
  [[nodiscard]] const SlabBudget* owner() const noexcept { return budget_.get(); }
  [[nodiscard]] Result<UniqueFd> export_fd() const;

 private:
  CudaSlab(std::shared_ptr<const CudaContext> context, CUmemGenericAllocationHandle handle,
           std::size_t bytes, std::shared_ptr<SlabBudget> budget, SealState state);
  [[nodiscard]] Result<void> check_import(std::size_t granularity) const;
  [[nodiscard]] Result<void> check_import_size(std::size_t granularity) const;

  const std::shared_ptr<const CudaContext> context_;
  const CUmemGenericAllocationHandle handle_;
  const std::shared_ptr<SlabBudget> budget_;
  const Writers writers_ = std::make_shared<std::atomic<std::size_t>>(0);
  SealState state_;
};

}  // namespace aqua::device
