// SPDX-License-Identifier: Apache-2.0
// The driver's calls for memory.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "tests/device/cuda/stand_in/world.hpp"

namespace aqua::stand_in {
namespace {

CUresult MemGetInfo(std::size_t* free, std::size_t* total) {
  AQUA_ENTER("cuMemGetInfo");
  *free = *total = kTotal;
  return CUDA_SUCCESS;
}
CUresult Granularity(std::size_t* bytes, const CUmemAllocationProp*,
                     CUmemAllocationGranularity_flags) {
  AQUA_ENTER("cuMemGetAllocationGranularity");
  *bytes = kGranule;
  return CUDA_SUCCESS;
}

CUresult keep(int fd, CUmemGenericAllocationHandle* handle) {
  *handle = ++world().last_handle;
  world().allocations[*handle] = fd;
  return CUDA_SUCCESS;
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
  const int fd = ::memfd_create("stand-in", MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  return keep(fd, handle);
}
CUresult MemRelease(CUmemGenericAllocationHandle handle) {
  AQUA_ENTER("cuMemRelease");
  const auto found = world().allocations.find(handle);
  if (found == world().allocations.end()) return CUDA_ERROR_INVALID_VALUE;
  ::close(found->second);
  world().allocations.erase(found);
  return CUDA_SUCCESS;
}
CUresult MemExport(void* out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                   unsigned long long) {
  AQUA_ENTER("cuMemExportToShareableHandle");
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  const int copy = ::dup(world().allocations.at(handle));  // not close-on-exec, as the driver's
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
  return keep(::dup(fd), handle);
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
  if (bytes > kTotal * 4) return CUDA_ERROR_OUT_OF_MEMORY;
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
  const int fd = world().allocations.at(handle);
  const auto place = around(world().reservations, base);
  if (offset != 0 || bytes > size_of(fd) || place == world().reservations.end() ||
      base + bytes > place->second || around(world().mappings, base) != world().mappings.end()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (::mmap(reinterpret_cast<void*>(base), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, 0) ==
      MAP_FAILED) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  world().mappings[base] = base + bytes;
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
  world().accessible.erase(base);
  return CUDA_SUCCESS;
}
CUresult SetAccess(CUdeviceptr base, std::size_t bytes, const CUmemAccessDesc*, std::size_t) {
  AQUA_ENTER("cuMemSetAccess");
  if (::mprotect(reinterpret_cast<void*>(base), bytes, PROT_READ | PROT_WRITE) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  world().accessible[base] = base + bytes;
  return CUDA_SUCCESS;
}

CUresult take(Address* out, std::size_t bytes) {
  *out = reinterpret_cast<Address>(new unsigned char[bytes]);
  world().linear[*out] = *out + bytes;
  return CUDA_SUCCESS;
}
CUresult give(const char* call, Address base) {
  const auto found = world().linear.find(base);
  if (found == world().linear.end()) return CUDA_ERROR_INVALID_VALUE;
  const bool used = in_use(call, base, found->second - base);
  world().linear.erase(found);
  if (!used) delete[] reinterpret_cast<unsigned char*>(base);
  return CUDA_SUCCESS;
}
CUresult Alloc(CUdeviceptr* out, std::size_t bytes) {
  AQUA_ENTER("cuMemAlloc");
  Address address = 0;
  const CUresult taken = take(&address, bytes);
  *out = address;
  return taken;
}
CUresult FreeLinear(CUdeviceptr base) {
  AQUA_ENTER("cuMemFree");
  return give("cuMemFree", base);
}
CUresult HostAlloc(void** out, std::size_t bytes, unsigned) {
  AQUA_ENTER("cuMemHostAlloc");
  Address address = 0;
  const CUresult taken = take(&address, bytes);
  *out = reinterpret_cast<void*>(address);
  return taken;
}
CUresult FreeHost(void* base) {
  AQUA_ENTER("cuMemFreeHost");
  return give("cuMemFreeHost", reinterpret_cast<Address>(base));
}
CUresult Register(void* base, std::size_t bytes, unsigned) {
  AQUA_ENTER("cuMemHostRegister");
  world().registrations[reinterpret_cast<Address>(base)] = reinterpret_cast<Address>(base) + bytes;
  return CUDA_SUCCESS;
}
CUresult Unregister(void* base) {
  AQUA_ENTER("cuMemHostUnregister");
  const auto found = world().registrations.find(reinterpret_cast<Address>(base));
  if (found == world().registrations.end()) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  (void)in_use("cuMemHostUnregister", found->first, found->second - found->first);
  world().registrations.erase(found);
  return CUDA_SUCCESS;
}
// Zeroes for memory of nobody's. Within a reservation the range is the whole of it, mapped or not,
// as with the driver. False for what is no such memory, or not answered.
bool answer(CUpointer_attribute name, void* value, Address at) {
  const World& w = world();
  const Ranges* ranges = nullptr;
  for (const Ranges* candidate : {&w.linear, &w.registrations, &w.engines, &w.reservations}) {
    if (around(*candidate, at) != candidate->end()) ranges = candidate;
  }
  const bool reserved = ranges == &w.engines || ranges == &w.reservations;
  const Ranges* const memory = reserved ? &w.accessible : ranges;
  if (memory == nullptr || around(*memory, at) == memory->end()) return false;
  const auto range = *around(*ranges, at);
  const auto mapping = *around(*memory, at);
  const auto put = [&](auto known) {
    std::memcpy(value, &known, sizeof known);
    return true;
  };
  switch (name) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(static_cast<unsigned>(ranges == &w.registrations ? CU_MEMORYTYPE_HOST
                                                                  : CU_MEMORYTYPE_DEVICE));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(at);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(0U);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(1U);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put(static_cast<unsigned>(CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(range.first);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(range.second - range.first);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return put(mapping.first);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return put(mapping.second - mapping.first);
    default:
      return false;
  }
}
CUresult Attributes(unsigned count, CUpointer_attribute* names, void** values, CUdeviceptr at) {
  AQUA_ENTER("cuPointerGetAttributes");
  for (unsigned i = 0; i < count; ++i) (void)answer(names[i], values[i], at);
  return CUDA_SUCCESS;
}
CUresult Attribute(void* value, CUpointer_attribute name, CUdeviceptr at) {
  AQUA_ENTER("cuPointerGetAttribute");
  return answer(name, value, at) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
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
      {"cuMemHostUnregister", reinterpret_cast<void*>(Unregister)},
      {"cuPointerGetAttributes", reinterpret_cast<void*>(Attributes)},
      {"cuPointerGetAttribute", reinterpret_cast<void*>(Attribute)}};
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace aqua::stand_in
