// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/range.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/cuda/error.hpp"

namespace aqua::device {

Result<std::unique_ptr<AddressRange>> CudaRange::reserve(std::shared_ptr<const CudaContext> context,
                                                         std::shared_ptr<const SlabBudget> device,
                                                         std::shared_ptr<RegionSet> mapped,
                                                         std::size_t bytes,
                                                         std::size_t granularity) {
  const CudaDriver& driver = context->driver();
  CUdeviceptr base = 0;
  const CUresult reserved = driver.MemAddressReserve(&base, bytes, granularity, 0, 0);
  // The size is well formed, so an invalid value is one too large.
  if (reserved == CUDA_ERROR_OUT_OF_MEMORY || reserved == CUDA_ERROR_INVALID_VALUE) {
    return Error{Code::resource_exhausted,
                 concat("reserve: no ", bytes, " consecutive addresses left in this process")};
  }
  AQUA_TRY(check(driver, reserved, "reserve", "cuMemAddressReserve"));
  return std::unique_ptr<AddressRange>(new CudaRange(std::move(context), std::move(device),
                                                     std::move(mapped), base, bytes, granularity));
}

CudaRange::CudaRange(std::shared_ptr<const CudaContext> context,
                     std::shared_ptr<const SlabBudget> device, std::shared_ptr<RegionSet> mapped,
                     CUdeviceptr base, std::size_t bytes, std::size_t granularity)
    : AddressRange(reinterpret_cast<std::byte*>(base), bytes),
      context_(std::move(context)),
      device_(std::move(device)),
      mapped_(std::move(mapped)),
      first_(base),
      places_(bytes, granularity) {}

CudaRange::~CudaRange() {
  mapped_->remove(base(), bytes());
  const auto scope = context_->try_enter();
  if (!scope) return;
  const CudaDriver& driver = context_->driver();
  for (const auto& [offset, size] : places_.all()) (void)driver.MemUnmap(first_ + offset, size);
  (void)driver.MemAddressFree(first_, bytes());
}

Result<void> CudaRange::map(std::size_t offset, const CudaSlab& slab) {
  const std::size_t size = slab.bytes();
  AQUA_TRY(places_.check_free(offset, size));
  const CudaDriver& driver = context_->driver();
  AQUA_TRY(
      check(driver, driver.MemMap(first_ + offset, size, 0, slab.handle(), 0), "map", "cuMemMap"));
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = context_->device();
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  auto granted = check(driver, driver.MemSetAccess(first_ + offset, size, &access, 1), "map",
                       "cuMemSetAccess");
  if (!granted.ok()) {
    (void)driver.MemUnmap(first_ + offset, size);
    return granted;
  }
  places_.take(offset, size);
  mapped_->add(base() + offset, size);
  return {};
}

Result<void> CudaRange::unmap(std::size_t offset, std::size_t size) {
  AQUA_TRY(places_.check_taken(offset, size));
  const CudaDriver& driver = context_->driver();
  mapped_->remove(base() + offset, size);  // first: no kernel may take it for reachable any more
  auto unmapped = check(driver, driver.MemUnmap(first_ + offset, size), "unmap", "cuMemUnmap");
  if (unmapped.ok())
    places_.release(offset);
  else
    mapped_->add(base() + offset, size);
  return unmapped;
}

}  // namespace aqua::device
