// SPDX-License-Identifier: Apache-2.0
// Finds a GPU by name, checks that its memory can be shared, and makes a device of it.
#include <array>
#include <fstream>
#include <string>
#include <utility>
#include <variant>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/cuda/device_impl.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/name.hpp"
#include "device/cuda/without_kernel.hpp"
#include "device/numa.hpp"
#include "kernels/copy.hpp"

namespace aqua::device {
namespace {

constexpr std::size_t kLeastGranularity = std::size_t{2} << 20;
constexpr std::size_t kUploadBytes = std::size_t{8} << 20;  // lists of 262,144 pieces

DeviceUuid uuid_of(const CudaDriver& driver, CUdevice device) {
  CUuuid native{};
  DeviceUuid uuid;
  if (driver.DeviceGetUuid(&native, device) != CUDA_SUCCESS) return uuid;
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    uuid.bytes[i] = static_cast<std::uint8_t>(native.bytes[i]);
  }
  return uuid;
}

Result<int> ordinal_of(const CudaDriver& driver, const DeviceUuid& wanted) {
  int devices = 0;
  (void)driver.DeviceGetCount(&devices);
  for (int ordinal = 0; ordinal < devices; ++ordinal) {
    CUdevice device = 0;
    if (driver.DeviceGet(&device, ordinal) == CUDA_SUCCESS && uuid_of(driver, device) == wanted) {
      return ordinal;
    }
  }
  return Error{Code::not_found, concat("device ", gpu_name(wanted), ": not among the ", devices,
                                       " GPUs that this process sees (see CUDA_VISIBLE_DEVICES)")};
}

std::string driver_name(const CudaDriver& driver) {
  std::string release;
  std::getline(std::ifstream("/sys/module/nvidia/version"), release);
  const std::string api = concat("CUDA ", driver.version / 1000, '.', driver.version % 1000 / 10);
  return release.empty() ? api : concat(api, ", driver ", release);
}

Result<Info> describe_device(const CudaContext& context, const CudaOptions& options) {
  const CudaDriver& driver = context.driver();
  Info info;
  info.kind = Kind::cuda;
  info.name = concat("cuda:", context.ordinal());
  info.uuid = uuid_of(driver, context.device());
  info.driver = driver_name(driver);
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = context.device();
  AQUA_TRY(check(driver,
                 driver.MemGetAllocationGranularity(&info.granularity, &properties,
                                                    CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                 "open_cuda", "cuMemGetAllocationGranularity"));
  info.granularity = std::max(info.granularity, kLeastGranularity);
  info.cache_bytes =
      static_cast<std::size_t>(std::max(0, context.attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)));
  std::size_t total = 0;
  AQUA_TRY(check(driver, driver.DeviceTotalMem(&total, context.device()), "open_cuda",
                 "cuDeviceTotalMem"));
  if (options.total_bytes != 0) total = std::min(total, options.total_bytes);
  info.total_bytes = total / info.granularity * info.granularity;
  std::array<char, 32> bus{};
  if (driver.DeviceGetPCIBusId(bus.data(), bus.size(), context.device()) == CUDA_SUCCESS) {
    info.numa_node = numa_node_of_pci(bus.data());
  }
  return info;
}

// Names all that is missing.
Result<void> check_sharing(const CudaContext& context) {
  constexpr std::array<std::pair<CUdevice_attribute, const char*>, 3> kNeeded{{
      {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "virtual memory management"},
      {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
       "memory as POSIX file descriptors"},
      {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
       "registered host memory at the host's addresses"},
  }};
  std::string missing;
  for (const auto& [attribute, name] : kNeeded) {
    if (context.attribute(attribute) == 0) missing += concat(missing.empty() ? "" : ", ", name);
  }
  if (missing.empty()) return {};
  return Error{Code::failed_precondition,
               concat("device cuda:", context.ordinal(), ": its driver does not have: ", missing)};
}

}  // namespace

Result<std::unique_ptr<Device>> open_cuda(const CudaOptions& options) {
  AQUA_ASSIGN(const CudaName name, parse_cuda_name(options.device));
  AQUA_ASSIGN(const CudaDriver* const driver, cuda_driver());
  int ordinal = 0;
  if (const auto* uuid = std::get_if<DeviceUuid>(&name)) {
    AQUA_ASSIGN(ordinal, ordinal_of(*driver, *uuid));
  } else {
    ordinal = std::get<int>(name);
  }
  CudaDevice::Parts parts;
  AQUA_ASSIGN(parts.context, CudaContext::retain(*driver, ordinal));
  AQUA_ASSIGN(const auto scope, parts.context->enter());
  AQUA_TRY(check_sharing(*parts.context));
  AQUA_ASSIGN(parts.info, describe_device(*parts.context, options));
  AQUA_ASSIGN(parts.uploads, UploadRing::open(parts.context, kUploadBytes));
  parts.batch_patience = options.batch_patience;
  const int loaded = kernels::load_kernels();
  parts.kernels = !without_kernel(loaded);  // the copy engines do without
  if (parts.kernels)
    AQUA_TRY(check(*driver, static_cast<CUresult>(loaded), "open_cuda", "load_kernels"));
  return std::unique_ptr<Device>(new CudaDevice(std::move(parts)));
}

Result<void> cuda_available() {
  AQUA_TRY(cuda_driver());
  return {};
}

}  // namespace aqua::device
