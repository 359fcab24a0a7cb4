// SPDX-License-Identifier: Apache-2.0
// A reserved range of a GPU's addresses and the slabs mapped in it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "device/cuda/context.hpp"
#include "device/cuda/slab.hpp"
#include "device/region_set.hpp"
#include "device/slab_places.hpp"

namespace aqua::device {

class CudaRange final : public AddressRange {
 public:
  // What a device knows of its mappings.
  struct Known {
    std::shared_ptr<RegionSet> reachable;  // kernels must touch nothing else
    std::shared_ptr<RegionSet> read_only;
  };
  // `device` is the budget of the device whose range this is: its identity. `known` learns what is
  // mapped here.
  [[nodiscard]] static Result<std::unique_ptr<AddressRange>> reserve(
      std::shared_ptr<const CudaContext> context, std::shared_ptr<const SlabBudget> device,
      Known known, std::size_t bytes, std::size_t granularity);
  ~CudaRange() override;

  [[nodiscard]] const SlabBudget* device() const noexcept { return device_.get(); }
  // Device::map and Device::unmap.
  [[nodiscard]] Result<void> map(std::size_t offset, const CudaSlab& slab, MapAccess access);
  [[nodiscard]] Result<void> unmap(std::size_t offset, std::size_t bytes);

 private:
  CudaRange(std::shared_ptr<const CudaContext> context, std::shared_ptr<const SlabBudget> device,
            Known known, CUdeviceptr base, std::size_t bytes, std::size_t granularity);

  const std::shared_ptr<const CudaContext> context_;
  const std::shared_ptr<const SlabBudget> device_;
  const Known known_;
  const CUdeviceptr first_;
  SlabPlaces places_;
  std::map<std::size_t, CudaSlab::Writers> writers_;  // of what is mapped to be written, by offset
};

}  // namespace aqua::device
