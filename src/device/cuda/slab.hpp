// SPDX-License-Identifier: Apache-2.0
// Physical memory of a GPU, or of another process's.
//
// Fork: in a child the destructor does nothing; the memory is the parent's.
#pragma once

#include <cstddef>
#include <memory>

#include "base/unique_fd.hpp"
#include "device/cuda/context.hpp"
#include "device/device.hpp"
#include "device/slab_budget.hpp"

namespace aqua::device {

class CudaSlab final : public Slab {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Slab>> create(
      std::shared_ptr<const CudaContext> context, std::shared_ptr<SlabBudget> budget,
      std::size_t bytes);
  // The memory behind a descriptor, which stays the caller's. invalid_argument unless it is a GPU's
  // and of exactly `bytes`; failed_precondition when our GPU cannot reach that one.
  [[nodiscard]] static Result<std::unique_ptr<Slab>> import(
      std::shared_ptr<const CudaContext> context, int fd, std::size_t bytes,
      std::size_t granularity);
  ~CudaSlab() override;

  [[nodiscard]] CUmemGenericAllocationHandle handle() const noexcept { return handle_; }
  // The owner's budget; null for an import.
  [[nodiscard]] const SlabBudget* owner() const noexcept { return budget_.get(); }
  [[nodiscard]] Result<UniqueFd> export_fd() const;

 private:
  CudaSlab(std::shared_ptr<const CudaContext> context, CUmemGenericAllocationHandle handle,
           std::size_t bytes, std::shared_ptr<SlabBudget> budget);
  [[nodiscard]] Result<void> check_import(std::size_t granularity) const;
  [[nodiscard]] Result<void> check_import_size(std::size_t granularity) const;

  const std::shared_ptr<const CudaContext> context_;
  const CUmemGenericAllocationHandle handle_;
  const std::shared_ptr<SlabBudget> budget_;
};

}  // namespace aqua::device
