// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/slab.hpp"

#include <fcntl.h>

#include <string>
#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/try.hpp"
#include "device/cuda/error.hpp"

namespace aqua::device {

Result<std::unique_ptr<Slab>> CudaSlab::create(std::shared_ptr<const CudaContext> context,
                                               std::shared_ptr<SlabBudget> budget,
                                               std::size_t bytes, SlabUse use) {
  if (!budget->take(bytes)) {
    return Error{Code::resource_exhausted,
                 concat("create_slab: ", bytes, " bytes wanted, ", budget->free_bytes(), " free")};
  }
  const CudaDriver& driver = context->driver();
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = context->device();
  CUmemGenericAllocationHandle handle = 0;
  auto created = check(driver, driver.MemCreate(&handle, bytes, &properties, 0),
                       concat("create_slab: ", bytes, " bytes").c_str(), "cuMemCreate");
  if (!created.ok()) {
    budget->give(bytes);
    return std::move(created).error();
  }
  return std::unique_ptr<Slab>(
      new CudaSlab(std::move(context), handle, bytes, std::move(budget), SealState::made_to(use)));
}

Result<std::unique_ptr<Slab>> CudaSlab::import(std::shared_ptr<const CudaContext> context, int fd,
                                               std::size_t bytes, std::size_t granularity,
                                               SlabUse use) {
  const CudaDriver& driver = context->driver();
  CUmemGenericAllocationHandle handle = 0;
  const CUresult imported = driver.MemImportFromShareableHandle(
      &handle, reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (imported != CUDA_SUCCESS) {
    const Code code = code_of(imported);
    const bool ours = code == Code::resource_exhausted || code == Code::data_loss ||
                      code == Code::failed_precondition;
    return Error{
        ours ? code : Code::invalid_argument,
        concat("import_slab: ", describe(driver, "cuMemImportFromShareableHandle", imported),
               "; not a slab of a GPU that this process sees (CUDA_VISIBLE_DEVICES)?")};
  }
  std::unique_ptr<CudaSlab> slab(
      new CudaSlab(std::move(context), handle, bytes, nullptr, SealState::imported(use)));
  AQUA_TRY(slab->check_import(granularity));
  return std::unique_ptr<Slab>(std::move(slab));
}

Result<void> CudaSlab::check_import(std::size_t granularity) const {
  const CudaDriver& driver = context_->driver();
  CUmemAllocationProp properties{};
  AQUA_TRY(check(driver, driver.MemGetAllocationPropertiesFromHandle(&properties, handle_),
                 "import_slab", "cuMemGetAllocationPropertiesFromHandle"));
  const CUmemLocationType where = properties.location.type;
  if (where == CU_MEM_LOCATION_TYPE_HOST || where == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
      where == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) {
    return Error{Code::invalid_argument,
                 concat("import_slab: memory of location type ",
                        static_cast<int>(properties.location.type), ", not a GPU's")};
  }
  // Newer drivers tell no more than that of a GPU that this process does not see; whether it is in
  // reach shows when it is mapped.
  int reaches = 1;
  if (where == CU_MEM_LOCATION_TYPE_DEVICE && properties.location.id != context_->device()) {
    (void)driver.DeviceCanAccessPeer(&reaches, context_->device(), properties.location.id);
  }
  if (reaches == 0) {
    return Error{Code::failed_precondition,
                 concat("import_slab: cuda:", context_->ordinal(), " has no peer access to cuda:",
                        properties.location.id, "; this pair must not be matched")};
  }
  return check_import_size(granularity);
}

// The driver tells no size of a handle, but maps no more than there is: `bytes` must fit where a
// granule more does not. A driver that maps more all the same is asked for the address range, which
// is then that of the memory; where it does not know it either the slab is refused.
Result<void> CudaSlab::check_import_size(std::size_t granularity) const {
  const CudaDriver& driver = context_->driver();
  const std::size_t room = bytes() + granularity;
  CUdeviceptr base = 0;
  const CUresult reserved = driver.MemAddressReserve(&base, room, granularity, 0, 0);
  if (reserved != CUDA_SUCCESS) {
    return Error{Code::resource_exhausted,
                 concat("import_slab: ", describe(driver, "cuMemAddressReserve", reserved))};
  }
  const CUresult fits = driver.MemMap(base, bytes(), 0, handle_, 0);
  if (fits == CUDA_SUCCESS) (void)driver.MemUnmap(base, bytes());
  bool larger = false;
  std::size_t told = 0;  // what the address range of a mapping of all the room is; 0: not known
  if (fits == CUDA_SUCCESS && driver.MemMap(base, room, 0, handle_, 0) == CUDA_SUCCESS) {
    larger = true;
    if (driver.MemGetAddressRange(nullptr, &told, base) != CUDA_SUCCESS) told = 0;
    (void)driver.MemUnmap(base, room);
  }
  (void)driver.MemAddressFree(base, room);
  if (fits == CUDA_SUCCESS && (!larger || told == bytes())) return {};
  if (code_of(fits) == Code::resource_exhausted || code_of(fits) == Code::data_loss)
    return check(driver, fits, "import_slab", "cuMemMap");
  const std::string why =
      !larger
          ? describe(driver, concat("cuMemMap of ", bytes(), " bytes").c_str(), fits)
          : concat("cuMemMap takes ", room, " bytes of it, and cuMemGetAddressRange says ", told);
  return Error{Code::invalid_argument, concat("import_slab: expected ", bytes(),
                                              " bytes, the slab has another size: ", why)};
}

CudaSlab::CudaSlab(std::shared_ptr<const CudaContext> context, CUmemGenericAllocationHandle handle,
                   std::size_t bytes, std::shared_ptr<SlabBudget> budget, SealState state)
    : Slab(bytes),
      context_(std::move(context)),
      handle_(handle),
      budget_(std::move(budget)),
      state_(state) {}

CudaSlab::~CudaSlab() {
  if (const auto scope = context_->try_enter()) (void)context_->driver().MemRelease(handle_);
  if (budget_) budget_->give(bytes());
}

Result<void> CudaSlab::seal() {
  AQUA_TRY(state_.check_seal());
  if (writers_->load() > 0) return SealState::still_written();
  state_.seal();
  return {};
}

Result<UniqueFd> CudaSlab::export_fd() const {
  AQUA_TRY(state_.check_export());
  const CudaDriver& driver = context_->driver();
  int raw = -1;
  const CUresult exported =
      driver.MemExportToShareableHandle(&raw, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (exported == CUDA_ERROR_OPERATING_SYSTEM) {
    return Error{Code::resource_exhausted,
                 "export_slab: no file descriptor left; raise RLIMIT_NOFILE or lend fewer, larger "
                 "slabs"};
  }
  AQUA_TRY(check(driver, exported, "export_slab", "cuMemExportToShareableHandle"));
  UniqueFd fd(raw);
  // The driver takes no such flag: a fork and exec between these two calls inherits it.
  if (::fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0) return errno_error("export_slab: FD_CLOEXEC");
  return fd;
}

}  // namespace aqua::device
