// SPDX-License-Identifier: Apache-2.0
// The CUDA driver's functions, found when the program runs: nothing here is linked to libcuda,
// so one binary starts with a driver and without one.
//
// Threads: any. The table is loaded once a process and never unloaded.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

#include <string>

#include "aqua/result.hpp"

namespace aqua::device {

// member, driver's name, version of the signature (as in cudaTypedefs.h)
#define AQUA_CUDA_FUNCTIONS(X)                   \
  X(GetErrorName, 6000)                          \
  X(GetErrorString, 6000)                        \
  X(Init, 2000)                                  \
  X(DriverGetVersion, 2020)                      \
  X(DeviceGet, 2000)                             \
  X(DeviceGetCount, 2000)                        \
  X(DeviceGetUuid, 11040)                        \
  X(DeviceGetAttribute, 2000)                    \
  X(DeviceGetPCIBusId, 4010)                     \
  X(DeviceTotalMem, 3020)                        \
  X(DeviceCanAccessPeer, 4000)                   \
  X(DevicePrimaryCtxRetain, 7000)                \
  X(DevicePrimaryCtxRelease, 11000)              \
  X(CtxGetCurrent, 4000)                         \
  X(CtxGetDevice, 2000)                          \
  X(CtxPushCurrent, 4000)                        \
  X(CtxPopCurrent, 4000)                         \
  X(ThreadExchangeStreamCaptureMode, 10010)      \
  X(MemGetInfo, 3020)                            \
  X(MemGetAllocationGranularity, 10020)          \
  X(MemCreate, 10020)                            \
  X(MemRelease, 10020)                           \
  X(MemExportToShareableHandle, 10020)           \
  X(MemImportFromShareableHandle, 10020)         \
  X(MemGetAllocationPropertiesFromHandle, 10020) \
  X(MemAddressReserve, 10020)                    \
  X(MemAddressFree, 10020)                       \
  X(MemMap, 10020)                               \
  X(MemUnmap, 10020)                             \
  X(MemSetAccess, 10020)                         \
  X(MemAlloc, 3020)                              \
  X(MemFree, 3020)                               \
  X(MemHostAlloc, 2020)                          \
  X(MemFreeHost, 2000)                           \
  X(MemHostRegister, 6050)                       \
  X(MemHostUnregister, 4000)                     \
  X(MemGetAddressRange, 3020)                    \
  X(PointerGetAttribute, 4000)                   \
  X(PointerGetAttributes, 7000)                  \
  X(StreamCreate, 2000)                          \
  X(StreamDestroy, 4000)                         \
  X(StreamSynchronize, 2000)                     \
  X(StreamIsCapturing, 10000)                    \
  X(StreamGetCtx, 9020)                          \
  X(StreamWaitEvent, 3020)                       \
  X(EventCreate, 2000)                           \
  X(EventDestroy, 4000)                          \
  X(EventRecord, 2000)                           \
  X(EventQuery, 2000)                            \
  X(EventSynchronize, 2000)                      \
  X(EventElapsedTime, 2000)                      \
  X(MemcpyAsync, 4000)                           \
  X(MemsetD8Async, 3020)                         \
  X(MemsetD32Async, 3020)

// Members are named as the functions are, less their `cu`: driver.MemCreate(...).
struct CudaDriver {
#define AQUA_CUDA_MEMBER(name, version) PFN_cu##name##_v##version name = nullptr;
  AQUA_CUDA_FUNCTIONS(AQUA_CUDA_MEMBER)
#undef AQUA_CUDA_MEMBER
  PFN_cuStreamGetCtx_v12050 StreamGetCtx_v2 = nullptr;       // null before 12.5
  PFN_cuMemcpyBatchAsync_v12080 MemcpyBatchAsync = nullptr;  // null before 12.8
  int version = 0;                                           // 12080 for 12.8
};

// The table, with the driver initialised and at least one GPU visible. unavailable, with the
// reason, where there is no driver, one that is too old, or no GPU.
[[nodiscard]] Result<const CudaDriver*> cuda_driver();

// Loads a table from `library` and initialises nothing: cuda_driver()'s first half, for tests.
[[nodiscard]] Result<CudaDriver> load_cuda_driver(const std::string& library);

}  // namespace aqua::device
