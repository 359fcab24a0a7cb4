// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/range.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/cuda/error.hpp"

namespace aqua::device {

Result<std::unique_ptr<AddressRange>> CudaRange::reserve(std::shared_ptr<const CudaContext> context,
                                                         std::shared_ptr<const SlabBudget> device,
                                                         Known known, std::size_t bytes,
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
                                                     std::move(known), base, bytes, granularity));
}

CudaRange::CudaRange(std::shared_ptr<const CudaContext> context,
                     std::shared_ptr<const SlabBudget> device, Known known, CUdeviceptr base,
                     std::size_t bytes, std::size_t granularity)
    : AddressRange(reinterpret_cast<std::byte*>(base), bytes),
      context_(std::move(context)),
      device_(std::move(device)),
      known_(std::move(known)),
      first_(base),
      places_(bytes, granularity) {}

CudaRange::~CudaRange() {
  known_.reachable->remove(base(), bytes());
  known_.read_only->remove(base(), bytes());
  for (const auto& [offset, writers] : writers_) --*writers;
  const auto scope = context_->try_enter();
  if (!scope) return;
  const CudaDriver& driver = context_->driver();
  for (const auto& [offset, size] : places_.all()) (void)driver.MemUnmap(first_ + offset, size);
  (void)driver.MemAddressFree(first_, bytes());
}

Result<void> CudaRange::map(std::size_t offset, const CudaSlab& slab, MapAccess wanted) {
  const std::size_t size = slab.bytes();
  AQUA_TRY(places_.check_free(offset, size));
  AQUA_TRY(slab.state().check_map(wanted));
  const CudaDriver& driver = context_->driver();
  AQUA_TRY(
      check(driver, driver.MemMap(first_ + offset, size, 0, slab.handle(), 0), "map", "cuMemMap"));
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = context_->device();
  const bool writable = wanted == MapAccess::read_write;
  access.flags = writable ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ;
  auto granted = check(driver, driver.MemSetAccess(first_ + offset, size, &access, 1), "map",
                       "cuMemSetAccess");
  if (!granted.ok()) {
    (void)driver.MemUnmap(first_ + offset, size);
    return granted;
  }
  places_.take(offset, size);
  if (writable) {
    ++*writers_.emplace(offset, slab.writers()).first->second;
  } else {
    known_.read_only->add(base() + offset, size);
  }
  known_.reachable->add(base() + offset, size);
  return {};
}

Result<void> CudaRange::unmap(std::size_t offset, std::size_t size) {
  AQUA_TRY(places_.check_taken(offset, size));
  const CudaDriver& driver = context_->driver();
  known_.reachable->remove(base() + offset, size);  // first: no kernel may go there any more
  auto unmapped = check(driver, driver.MemUnmap(first_ + offset, size), "unmap", "cuMemUnmap");
  if (!unmapped.ok()) {
    known_.reachable->add(base() + offset, size);
    return unmapped;
  }
  places_.release(offset);
  known_.read_only->remove(base() + offset, size);
  if (const auto writer = writers_.extract(offset)) --*writer.mapped();
  return {};
}

}  // namespace aqua::device
