// SPDX-License-Identifier: Apache-2.0
// The driver's calls for memory.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/device/cuda/stand_in/world.hpp"

namespace aqua::stand_in {
namespace {

CUresult MemGetInfo(std::size_t* free, std::size_t* total) {
  AQUA_ENTER("cuMemGetInfo");
  *total = world().variant.memory_bytes;
  *free = *total - std::min(*total, world().used);
  return CUDA_SUCCESS;
}
CUresult Granularity(std::size_t* bytes, const CUmemAllocationProp*,
                     CUmemAllocationGranularity_flags) {
  AQUA_ENTER("cuMemGetAllocationGranularity");
  *bytes = kGranule;
  return CUDA_SUCCESS;
}

CUresult keep(Allocation allocation, CUmemGenericAllocationHandle* handle) {
  *handle = ++world().last_handle;
  world().allocations[*handle] = std::move(allocation);
  return CUDA_SUCCESS;
}
bool fits(std::size_t bytes) {
  return bytes <= world().variant.memory_bytes &&
         world().used <= world().variant.memory_bytes - bytes;
}
std::size_t size_of(int fd) {
  struct stat file {};
  return ::fstat(fd, &file) == 0 ? static_cast<std::size_t>(file.st_size) : 0;
}

CUresult MemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                   const CUmemAllocationProp* properties, unsigned long long) {
  AQUA_ENTER("cuMemCreate");
  if (bytes == 0 || bytes % kGranule != 0) return CUDA_ERROR_INVALID_VALUE;
  if (properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return CUDA_ERROR_NOT_PERMITTED;
  }
  if (!fits(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const int fd = ::memfd_create("stand-in", MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  return keep({fd, std::make_shared<Physical>(bytes)}, handle);
}
CUresult MemRelease(CUmemGenericAllocationHandle handle) {
  AQUA_ENTER("cuMemRelease");
  const auto found = world().allocations.find(handle);
  if (found == world().allocations.end()) return CUDA_ERROR_INVALID_VALUE;
  ::close(found->second.fd);
  world().allocations.erase(found);
  return CUDA_SUCCESS;
}
CUresult MemExport(void* out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                   unsigned long long) {
  AQUA_ENTER("cuMemExportToShareableHandle");
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  const int copy = ::dup(world().allocations.at(handle).fd);  // not close-on-exec, as the driver's
  if (copy < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  std::memcpy(out, &copy, sizeof copy);
  return CUDA_SUCCESS;
}
CUresult MemImport(CUmemGenericAllocationHandle* handle, void* shareable,
                   CUmemAllocationHandleType type) {
  AQUA_ENTER("cuMemImportFromShareableHandle");
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(shareable));
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  if (size_of(fd) == 0 || size_of(fd) % kGranule != 0) return CUDA_ERROR_INVALID_DEVICE;
  return keep({::dup(fd)}, handle);
}
CUresult MemProperties(CUmemAllocationProp* properties, CUmemGenericAllocationHandle) {
  AQUA_ENTER("cuMemGetAllocationPropertiesFromHandle");
  *properties = {};
  properties->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return CUDA_SUCCESS;
}

CUresult Reserve(CUdeviceptr* base, std::size_t bytes, std::size_t alignment, CUdeviceptr,
                 unsigned long long) {
  AQUA_ENTER("cuMemAddressReserve");
  if (bytes > std::size_t{256} << 30) return CUDA_ERROR_OUT_OF_MEMORY;
  void* raw = ::mmap(nullptr, bytes + alignment, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto start = reinterpret_cast<Address>(raw);  // the slack is not given back
  *base = (start + alignment - 1) / alignment * alignment;
  world().reservations[*base] = *base + bytes;
  return CUDA_SUCCESS;
}
CUresult Free(CUdeviceptr base, std::size_t bytes) {
  AQUA_ENTER("cuMemAddressFree");
  const auto next = world().mappings.lower_bound(base);
  if (next != world().mappings.end() && next->first < base + bytes) return CUDA_ERROR_INVALID_VALUE;
  ::munmap(reinterpret_cast<void*>(base), bytes);
  return world().reservations.erase(base) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult Map(CUdeviceptr base, std::size_t bytes, std::size_t offset,
             CUmemGenericAllocationHandle handle, unsigned long long) {
  AQUA_ENTER("cuMemMap");
  const auto& [fd, memory] = world().allocations.at(handle);
  const auto place = around(world().reservations, base);
  const bool larger = bytes > size_of(fd) && !world().variant.lax_map;
  if (offset != 0 || larger || place == world().reservations.end() ||
      base + bytes > place->second || around(world().mappings, base) != world().mappings.end()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (::mmap(reinterpret_cast<void*>(base), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, 0) ==
      MAP_FAILED) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  world().mappings[base] = base + bytes;
  world().backed[base] = base + std::min(bytes, size_of(fd));
  world().owners[base] = current_context();
  world().held[base] = memory;
  return CUDA_SUCCESS;
}
CUresult Unmap(CUdeviceptr base, std::size_t bytes) {
  AQUA_ENTER("cuMemUnmap");
  const auto found = world().mappings.find(base);
  if (found == world().mappings.end() || found->second != base + bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  (void)in_use("cuMemUnmap", base, bytes);
  (void)::mmap(reinterpret_cast<void*>(base), bytes, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  world().mappings.erase(found);
  world().backed.erase(base);
  world().owners.erase(base);
  world().held.erase(base);
  world().accessible.erase(base);
  world().read_only.erase(base);
  return CUDA_SUCCESS;
}
// Whole mappings only, one or several side by side.
CUresult SetAccess(CUdeviceptr base, std::size_t bytes, const CUmemAccessDesc* wanted,
                   std::size_t count) {
  AQUA_ENTER("cuMemSetAccess");
  World& w = world();
  std::vector<std::pair<Address, Address>> whole;
  for (Address at = base; at < base + bytes; at = whole.back().second) {
    const auto found = w.mappings.find(at);
    if (found == w.mappings.end() || found->second > base + bytes) return CUDA_ERROR_INVALID_VALUE;
    whole.emplace_back(*found);
  }
  if (count != 1 || whole.empty()) return CUDA_ERROR_INVALID_VALUE;
  const bool reads = wanted->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
  const bool writes = wanted->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const int protection = (reads ? PROT_READ : PROT_NONE) | (writes ? PROT_WRITE : PROT_NONE);
  if (::mprotect(reinterpret_cast<void*>(base), bytes, protection) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (const auto& [begin, end] : whole) {
    w.accessible.erase(begin);
    w.read_only.erase(begin);
    if (reads) w.accessible[begin] = end;
    if (reads && !writes) w.read_only[begin] = end;
  }
  return CUDA_SUCCESS;
}

Address take(Ranges& kind, std::size_t bytes) {
  const auto base = reinterpret_cast<Address>(new unsigned char[bytes]);
  kind[base] = base + bytes;
  world().owners[base] = current_context();
  return base;
}
CUresult give(Ranges& kind, const char* call, Address base) {
  const auto found = kind.find(base);
  if (found == kind.end()) return CUDA_ERROR_INVALID_VALUE;
  const bool used = in_use(call, base, found->second - base);
  kind.erase(found);
  world().held.erase(base);
  world().owners.erase(base);
  if (!used) delete[] reinterpret_cast<unsigned char*>(base);
  return CUDA_SUCCESS;
}
CUresult Alloc(CUdeviceptr* out, std::size_t bytes) {
  AQUA_ENTER("cuMemAlloc");
  if (!fits(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = take(world().linear, bytes);
  world().held[*out] = std::make_shared<Physical>(bytes);
  return CUDA_SUCCESS;
}
CUresult FreeLinear(CUdeviceptr base) {
  AQUA_ENTER("cuMemFree");
  return give(world().linear, "cuMemFree", base);
}
CUresult HostAlloc(void** out, std::size_t bytes, unsigned) {
  AQUA_ENTER("cuMemHostAlloc");
  *out = reinterpret_cast<void*>(take(world().locked, bytes));
  return CUDA_SUCCESS;
}
CUresult FreeHost(void* base) {
  AQUA_ENTER("cuMemFreeHost");
  return give(world().locked, "cuMemFreeHost", reinterpret_cast<Address>(base));
}
CUresult Register(void* base, std::size_t bytes, unsigned) {
  AQUA_ENTER("cuMemHostRegister");
  const auto begin = reinterpret_cast<Address>(base);
  world().registrations[begin] = begin + bytes;
  world().owners[begin] = current_context();
  if (world().variant.registered_elsewhere) world().elsewhere[begin] = begin + bytes;
  return CUDA_SUCCESS;
}
CUresult Unregister(void* base) {
  AQUA_ENTER("cuMemHostUnregister");
  const auto found = world().registrations.find(reinterpret_cast<Address>(base));
  if (found == world().registrations.end()) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  (void)in_use("cuMemHostUnregister", found->first, found->second - found->first);
  world().owners.erase(found->first);
  world().elsewhere.erase(found->first);
  world().registrations.erase(found);
  return CUDA_SUCCESS;
}
}  // namespace

void* memory_function(const std::string& name) {
  static const std::map<std::string, void*> functions{
      {"cuMemGetInfo", reinterpret_cast<void*>(MemGetInfo)},
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(Granularity)},
      {"cuMemCreate", reinterpret_cast<void*>(MemCreate)},
      {"cuMemRelease", reinterpret_cast<void*>(MemRelease)},
      {"cuMemExportToShareableHandle", reinterpret_cast<void*>(MemExport)},
      {"cuMemImportFromShareableHandle", reinterpret_cast<void*>(MemImport)},
      {"cuMemGetAllocationPropertiesFromHandle", reinterpret_cast<void*>(MemProperties)},
      {"cuMemAddressReserve", reinterpret_cast<void*>(Reserve)},
      {"cuMemAddressFree", reinterpret_cast<void*>(Free)},
      {"cuMemMap", reinterpret_cast<void*>(Map)},
      {"cuMemUnmap", reinterpret_cast<void*>(Unmap)},
      {"cuMemSetAccess", reinterpret_cast<void*>(SetAccess)},
      {"cuMemAlloc", reinterpret_cast<void*>(Alloc)},
      {"cuMemFree", reinterpret_cast<void*>(FreeLinear)},
      {"cuMemHostAlloc", reinterpret_cast<void*>(HostAlloc)},
      {"cuMemFreeHost", reinterpret_cast<void*>(FreeHost)},
      {"cuMemHostRegister", reinterpret_cast<void*>(Register)},
      {"cuMemHostUnregister", reinterpret_cast<void*>(Unregister)}};
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace aqua::stand_in
