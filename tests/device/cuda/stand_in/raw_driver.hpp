// SPDX-License-Identifier: Apache-2.0
// The stand-in's calls as a program makes them that uses no device of ours: with the first GPU's
// context current, for as long as this lives.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "device/cuda/driver.hpp"

namespace aqua::device {

class RawDriver {
 public:
  RawDriver() : call(load_cuda_driver("libcuda.so.1").value()) {
    EXPECT_EQ(call.DevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    EXPECT_EQ(call.CtxPushCurrent(context_), CUDA_SUCCESS);
  }
  ~RawDriver() {
    EXPECT_EQ(call.CtxPopCurrent(&context_), CUDA_SUCCESS);
    EXPECT_EQ(call.DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  }
  RawDriver(const RawDriver&) = delete;
  RawDriver& operator=(const RawDriver&) = delete;

  // A function that the device's table may not have; PFN is one of cudaTypedefs.h.
  template <typename PFN>
  [[nodiscard]] PFN find(const char* name) const {
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const auto get =
        reinterpret_cast<PFN_cuGetProcAddress_v12000>(::dlsym(library, "cuGetProcAddress_v2"));
    void* function = nullptr;
    CUdriverProcAddressQueryResult found{};
    EXPECT_EQ(get(name, &function, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &found),
              CUDA_SUCCESS);
    return reinterpret_cast<PFN>(function);
  }

  [[nodiscard]] CUmemGenericAllocationHandle create(std::size_t bytes) const {
    CUmemAllocationProp properties{};
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(call.MemCreate(&handle, bytes, &properties, 0), CUDA_SUCCESS);
    return handle;
  }
  [[nodiscard]] CUdeviceptr reserve(std::size_t bytes) const {
    CUdeviceptr base = 0;
    EXPECT_EQ(call.MemAddressReserve(&base, bytes, 0x200000, 0, 0), CUDA_SUCCESS);
    return base;
  }
  [[nodiscard]] CUresult set_access(CUdeviceptr base, std::size_t bytes,
                                    CUmemAccess_flags flags) const {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = flags;
    return call.MemSetAccess(base, bytes, &access, 1);
  }

  const CudaDriver call;

 private:
  CUcontext context_ = nullptr;
};

}  // namespace aqua::device
