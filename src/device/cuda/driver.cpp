// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/driver.hpp"

#include <dlfcn.h>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/cuda/error.hpp"

namespace aqua::device {
namespace {

// The kernels' runtime is the toolkit's; it runs on drivers of its major version and newer ones.
constexpr int kOldestDriver = CUDA_VERSION / 1000 * 1000;

Result<void*> find(PFN_cuGetProcAddress_v12000 get, const char* name, int version) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  // Default: functions of stream 0 mean the legacy stream, as in every engine.
  const CUresult asked = get(name, &function, version, CU_GET_PROC_ADDRESS_DEFAULT, &found);
  if (asked == CUDA_SUCCESS && function != nullptr) return function;
  return Error{Code::unavailable,
               concat("CUDA driver: no ", name, " of version ", version, "; a driver of CUDA ",
                      kOldestDriver / 1000, ".0 or later is needed")};
}

Result<CudaDriver> start() {
  AQUA_ASSIGN(CudaDriver driver, load_cuda_driver("libcuda.so.1"));
  if (const CUresult begun = driver.Init(0); begun != CUDA_SUCCESS) {
    return Error{Code::unavailable, concat("CUDA driver: ", describe(driver, "cuInit", begun))};
  }
  int devices = 0;
  if (driver.DeviceGetCount(&devices) != CUDA_SUCCESS || devices == 0) {
    return Error{Code::unavailable,
                 "CUDA driver: no GPU is visible here (see CUDA_VISIBLE_DEVICES)"};
  }
  return driver;
}

}  // namespace

Result<CudaDriver> load_cuda_driver(const std::string& library) {
  // Never closed: the driver does not survive it.
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Error{Code::unavailable, concat("CUDA driver: none on this machine (", ::dlerror(),
                                           "); install NVIDIA's, or use emu:N")};
  }
  const auto get =
      reinterpret_cast<PFN_cuGetProcAddress_v12000>(::dlsym(handle, "cuGetProcAddress_v2"));
  if (get == nullptr) {
    return Error{Code::unavailable, concat("CUDA driver: ", library,
                                           " has no cuGetProcAddress_v2: not a driver of CUDA ",
                                           kOldestDriver / 1000, ".0 or later")};
  }
  CudaDriver driver;
#define AQUA_CUDA_LOAD(name, wanted)                                    \
  {                                                                     \
    AQUA_ASSIGN(void* const function, find(get, "cu" #name, wanted));   \
    driver.name = reinterpret_cast<PFN_cu##name##_v##wanted>(function); \
  }
  AQUA_CUDA_FUNCTIONS(AQUA_CUDA_LOAD)
#undef AQUA_CUDA_LOAD
  if (driver.DriverGetVersion(&driver.version) != CUDA_SUCCESS || driver.version < kOldestDriver) {
    return Error{Code::unavailable, concat("CUDA driver: version ", driver.version, ", at least ",
                                           kOldestDriver, " is needed by this build")};
  }
  if (auto contexts = find(get, "cuStreamGetCtx", 12050); contexts.ok()) {
    driver.StreamGetCtx_v2 = reinterpret_cast<PFN_cuStreamGetCtx_v12050>(*contexts);
  }
  if (auto batch = find(get, "cuMemcpyBatchAsync", 12080); batch.ok()) {
    driver.MemcpyBatchAsync = reinterpret_cast<PFN_cuMemcpyBatchAsync_v12080>(*batch);
  }
  return driver;
}

Result<const CudaDriver*> cuda_driver() {
  static const Result<CudaDriver> driver = start();
  if (!driver.ok()) return driver.error();
  return &driver.value();
}

}  // namespace aqua::device
