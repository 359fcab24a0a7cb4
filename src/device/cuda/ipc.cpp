// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/ipc.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/cuda/device_impl.hpp"
#include "device/cuda/error.hpp"

namespace aqua::device {
namespace {

class CudaIpcMemory final : public IpcMemory {
 public:
  CudaIpcMemory(std::shared_ptr<const CudaContext> context, CUdeviceptr base,
                const IpcHandle& handle)
      : IpcMemory(reinterpret_cast<std::byte*>(base + handle.offset), handle.bytes),
        context_(std::move(context)),
        base_(base) {}
  ~CudaIpcMemory() override {
    if (const auto scope = context_->try_enter()) {
      (void)context_->driver().IpcCloseMemHandle(base_);
    }
  }

 private:
  const std::shared_ptr<const CudaContext> context_;
  const CUdeviceptr base_;
};

Result<CudaDevice*> as_cuda(Device& device, const char* what) {
  if (auto* cuda = dynamic_cast<CudaDevice*>(&device)) return cuda;
  return Error{Code::invalid_argument, concat(what, ": ", device.info().name, " is no GPU")};
}

struct Facts {
  IpcFacts facts;
  CUdeviceptr base = 0;
};

Facts ask(const CudaDriver& driver, CUdeviceptr address) {
  Facts found;
  unsigned type = 0;
  int managed = 0;
  int capable = 0;
  CUmemoryPool pool = nullptr;
  std::array<CUpointer_attribute, 4> names{
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
      CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
  std::array<void*, 4> values{&type, &managed, &capable, &pool};
  if (driver.PointerGetAttributes(static_cast<unsigned>(names.size()), names.data(), values.data(),
                                  address) != CUDA_SUCCESS) {
    return found;
  }
  found.facts.known = type != 0;
  found.facts.host = type == CU_MEMORYTYPE_HOST;
  found.facts.managed = managed != 0;
  found.facts.capable = capable != 0;
  found.facts.pooled = pool != nullptr;
  std::size_t bytes = 0;
  if (driver.MemGetAddressRange(&found.base, &bytes, address) == CUDA_SUCCESS) {
    found.facts.left = found.base + bytes - address;
  }
  return found;
}

}  // namespace

Result<IpcHandle> export_ipc(Device& device, const std::byte* address, std::size_t bytes) {
  AQUA_ASSIGN(CudaDevice* const cuda, as_cuda(device, "export_ipc"));
  AQUA_ASSIGN(const auto scope, cuda->context()->enter());
  const CudaDriver& driver = cuda->context()->driver();
  const auto at = reinterpret_cast<CUdeviceptr>(address);
  const Facts found = ask(driver, at);
  AQUA_TRY(check_ipc(found.facts, bytes));
  CUipcMemHandle native{};
  AQUA_TRY(check(driver, driver.IpcGetMemHandle(&native, at), "export_ipc", "cuIpcGetMemHandle"));
  IpcHandle handle;
  static_assert(sizeof native == sizeof handle.native);
  std::memcpy(handle.native.data(), &native, sizeof native);
  handle.device = cuda->info().uuid;
  handle.offset = at - found.base;
  handle.bytes = bytes;
  return handle;
}

Result<std::unique_ptr<IpcMemory>> import_ipc(Device& device, const IpcHandle& handle) {
  AQUA_ASSIGN(CudaDevice* const cuda, as_cuda(device, "import_ipc"));
  AQUA_ASSIGN(const auto scope, cuda->context()->enter());
  const CudaDriver& driver = cuda->context()->driver();
  CUipcMemHandle native{};
  std::memcpy(&native, handle.native.data(), sizeof native);
  CUdeviceptr base = 0;
  AQUA_TRY(check(driver, driver.IpcOpenMemHandle(&base, native, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                 "import_ipc", "cuIpcOpenMemHandle"));
  std::unique_ptr<IpcMemory> memory(new CudaIpcMemory(cuda->context(), base, handle));
  CUdeviceptr start = 0;
  std::size_t size = 0;
  AQUA_TRY(check(driver, driver.MemGetAddressRange(&start, &size, base), "import_ipc",
                 "cuMemGetAddressRange"));
  if (handle.offset > size || handle.bytes > size - handle.offset) {
    return Error{Code::invalid_argument,
                 concat("import_ipc: offset ", handle.offset, ", ", handle.bytes,
                        " bytes: past the allocation's ", size)};
  }
  return memory;
}

}  // namespace aqua::device
