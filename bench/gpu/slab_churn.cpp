// SPDX-License-Identifier: Apache-2.0
#include "gpu/slab_churn.hpp"

#include <cuda.h>
#include <cudaTypedefs.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "gpu/cuda_objects.hpp"

namespace aqua::bench {
namespace {

constexpr std::size_t kSlabBytes = std::size_t{64} << 20;
constexpr std::size_t kSlabs = 8;

template <typename Function>
void find(const char* name, Function& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  must(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
  if (result != cudaDriverEntryPointSuccess) {
    std::fprintf(stderr, "gpu_bench: the driver has no %s\n", name);
    std::exit(1);
  }
  function = reinterpret_cast<Function>(found);
}

void must_driver(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "gpu_bench: %s: error %d\n", what, static_cast<int>(result));
  std::exit(1);
}

}  // namespace

struct SlabChurn::Driver {
  PFN_cuMemCreate_v10020 create = nullptr;
  PFN_cuMemRelease_v10020 release = nullptr;
  PFN_cuMemAddressReserve_v10020 reserve = nullptr;
  PFN_cuMemAddressFree_v10020 free = nullptr;
  PFN_cuMemMap_v10020 map = nullptr;
  PFN_cuMemUnmap_v10020 unmap = nullptr;
  PFN_cuMemSetAccess_v10020 set_access = nullptr;
  Driver() {
    find("cuMemCreate", create);
    find("cuMemRelease", release);
    find("cuMemAddressReserve", reserve);
    find("cuMemAddressFree", free);
    find("cuMemMap", map);
    find("cuMemUnmap", unmap);
    find("cuMemSetAccess", set_access);
  }
};

SlabChurn::SlabChurn(std::chrono::microseconds interval) : driver_(std::make_unique<Driver>()) {
  int device = 0;
  must(cudaGetDevice(&device));
  thread_ = std::thread([this, device, interval] { run(device, interval); });
}

SlabChurn::~SlabChurn() {
  stop_ = true;
  thread_.join();
}

void SlabChurn::run(int device, std::chrono::microseconds interval) {
  must(cudaSetDevice(device));
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  std::array<CUmemGenericAllocationHandle, kSlabs> slabs{};
  for (auto& slab : slabs) must_driver(driver_->create(&slab, kSlabBytes, &prop, 0), "cuMemCreate");
  CUdeviceptr base = 0;
  must_driver(driver_->reserve(&base, kSlabs * kSlabBytes, 0, 0, 0), "cuMemAddressReserve");
  while (!stop_) {
    const std::size_t place = rounds_ % kSlabs;
    const CUdeviceptr at = base + place * kSlabBytes;
    must_driver(driver_->map(at, kSlabBytes, 0, slabs[place], 0), "cuMemMap");
    must_driver(driver_->set_access(at, kSlabBytes, &access, 1), "cuMemSetAccess");
    must_driver(driver_->unmap(at, kSlabBytes), "cuMemUnmap");
    ++rounds_;
    if (interval.count() != 0) std::this_thread::sleep_for(interval);
  }
  for (auto& slab : slabs) must_driver(driver_->release(slab), "cuMemRelease");
  must_driver(driver_->free(base, kSlabs * kSlabBytes), "cuMemAddressFree");
}

}  // namespace aqua::bench
