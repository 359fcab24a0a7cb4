// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/first_contact/gpu.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "base/errno_error.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "device/cuda/error.hpp"

namespace aqua::first_contact {
namespace {

CUmemLocation first_gpu() {
  CUmemLocation location{};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return location;
}

CUmemAllocationProp exportable() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = first_gpu();
  return properties;
}

}  // namespace

Result<std::unique_ptr<Gpu>> Gpu::open(std::size_t mib) {
  AQUA_ASSIGN(const device::CudaDriver* const driver, device::cuda_driver());
  AQUA_ASSIGN(auto context, device::CudaContext::retain(*driver, 0));
  AQUA_ASSIGN(auto scope, context->enter());
  std::unique_ptr<Gpu> gpu(new Gpu(std::move(context), std::move(scope)));
  const CUmemAllocationProp properties = exportable();
  AQUA_TRY(gpu->done(driver->MemGetAllocationGranularity(&gpu->granule_, &properties,
                                                         CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                     "cuMemGetAllocationGranularity"));
  gpu->large_ = std::max<std::size_t>((mib << 20) / gpu->granule_, 1) * gpu->granule_;
  AQUA_ASSIGN(gpu->stream_, gpu->stream());
  return gpu;
}

Result<void> Gpu::done(CUresult result, const char* call) const {
  return device::check(cuda(), result, "first_contact", call);
}

std::string Gpu::name_of(CUresult result) const {
  const char* name = nullptr;
  return cuda().GetErrorName(result, &name) == CUDA_SUCCESS ? name : std::to_string(result);
}

Result<Handle> Gpu::create(std::size_t bytes) const {
  const CUmemAllocationProp properties = exportable();
  Handle handle = 0;
  AQUA_TRY(done(cuda().MemCreate(&handle, bytes, &properties, 0), "cuMemCreate"));
  return handle;
}

Result<int> Gpu::export_fd(Handle handle) const {
  int fd = -1;
  AQUA_TRY(done(
      cuda().MemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
      "cuMemExportToShareableHandle"));
  return fd;
}

Result<Handle> Gpu::import(int fd) const {
  const UniqueFd closed_at_the_end(fd);
  Handle handle = 0;
  AQUA_TRY(done(cuda().MemImportFromShareableHandle(
                    &handle, reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd)),
                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                "cuMemImportFromShareableHandle"));
  return handle;
}

Result<CUdeviceptr> Gpu::reserve(std::size_t bytes) const {
  CUdeviceptr base = 0;
  AQUA_TRY(done(cuda().MemAddressReserve(&base, bytes, granule_, 0, 0), "cuMemAddressReserve"));
  return base;
}

Result<void> Gpu::allow(CUdeviceptr base, std::size_t bytes, CUmemAccess_flags access) const {
  const CUmemAccessDesc description{first_gpu(), access};
  return done(cuda().MemSetAccess(base, bytes, &description, 1), "cuMemSetAccess");
}

Result<CUdeviceptr> Gpu::map(std::initializer_list<Handle> handles, std::size_t bytes,
                             CUmemAccess_flags access) const {
  AQUA_ASSIGN(const CUdeviceptr base, reserve(handles.size() * bytes));
  CUdeviceptr at = base;
  for (const Handle handle : handles) {
    AQUA_TRY(done(cuda().MemMap(at, bytes, 0, handle, 0), "cuMemMap"));
    AQUA_TRY(allow(at, bytes, access));
    at += bytes;
  }
  return base;
}

Result<CUdeviceptr> Gpu::allocate(std::size_t bytes) const {
  CUdeviceptr address = 0;
  AQUA_TRY(done(cuda().MemAlloc(&address, bytes), "cuMemAlloc"));
  return address;
}

Result<std::byte*> Gpu::pinned(std::size_t bytes) const {
  void* memory = nullptr;
  AQUA_TRY(done(cuda().MemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc"));
  return static_cast<std::byte*>(memory);
}

Result<std::byte*> Gpu::registered(std::size_t bytes) const {
  const UniqueFd fd(::memfd_create("first_contact", MFD_CLOEXEC));
  if (!fd.valid() || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    return errno_error("memfd_create");
  void* memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd.get(), 0);
  if (memory == MAP_FAILED) return errno_error("mmap");
  AQUA_TRY(done(cuda().MemHostRegister(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE),
                "cuMemHostRegister"));
  return static_cast<std::byte*>(memory);
}

Result<CUstream> Gpu::stream() const {
  CUstream stream = nullptr;
  AQUA_TRY(done(cuda().StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
  return stream;
}

Result<void> Gpu::write(CUdeviceptr to, const std::vector<std::byte>& bytes) const {
  AQUA_TRY(done(cuda().MemcpyAsync(to, address_of(bytes.data()), bytes.size(), stream_),
                "cuMemcpyAsync"));
  return wait(stream_);
}

Result<std::vector<std::byte>> Gpu::read(CUdeviceptr from, std::size_t bytes) const {
  std::vector<std::byte> out(bytes);
  AQUA_TRY(done(cuda().MemcpyAsync(address_of(out.data()), from, bytes, stream_), "cuMemcpyAsync"));
  AQUA_TRY(wait(stream_));
  return out;
}

Result<void> Gpu::wait(CUstream stream) const {
  return done(cuda().StreamSynchronize(stream), "cuStreamSynchronize");
}

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<std::byte> out(bytes);
  for (std::byte& b : out) b = static_cast<std::byte>(random() >> 8 & 0xff);
  return out;
}

}  // namespace aqua::first_contact
