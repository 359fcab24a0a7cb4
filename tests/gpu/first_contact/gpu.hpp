// SPDX-License-Identifier: Apache-2.0
// The driver as checks use it: every call names itself where it fails. Nothing is given back: the
// process ends after one check.
//
// Threads: one, in which the context is current for this object's life.
#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <vector>

#include "device/cuda/context.hpp"
#include "device/cuda/driver.hpp"

namespace aqua::first_contact {

using Clock = std::chrono::steady_clock;
using Handle = CUmemGenericAllocationHandle;

class Gpu {
 public:
  // The first GPU. `mib`: what large pieces of memory have.
  [[nodiscard]] static Result<std::unique_ptr<Gpu>> open(std::size_t mib);

  [[nodiscard]] const device::CudaDriver& cuda() const { return context_->driver(); }
  [[nodiscard]] int attribute(CUdevice_attribute name) const { return context_->attribute(name); }
  [[nodiscard]] Result<void> done(CUresult result, const char* call) const;
  [[nodiscard]] std::string name_of(CUresult result) const;

  [[nodiscard]] std::size_t granule() const { return granule_; }
  [[nodiscard]] std::size_t large() const { return large_; }  // bytes, whole granules

  // Memory that can be exported.
  [[nodiscard]] Result<Handle> create(std::size_t bytes) const;
  [[nodiscard]] Result<int> export_fd(Handle handle) const;
  [[nodiscard]] Result<Handle> import(int fd) const;  // and closes it
  // Side by side in one range, `bytes` of each.
  [[nodiscard]] Result<CUdeviceptr> map(
      std::initializer_list<Handle> handles, std::size_t bytes,
      CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) const;
  [[nodiscard]] Result<CUdeviceptr> reserve(std::size_t bytes) const;
  [[nodiscard]] Result<void> allow(CUdeviceptr base, std::size_t bytes,
                                   CUmemAccess_flags access) const;
  [[nodiscard]] Result<CUdeviceptr> allocate(std::size_t bytes) const;   // cuMemAlloc
  [[nodiscard]] Result<std::byte*> pinned(std::size_t bytes) const;      // cuMemHostAlloc
  [[nodiscard]] Result<std::byte*> registered(std::size_t bytes) const;  // a memfd's
  [[nodiscard]] Result<CUstream> stream() const;

  // Finished on return.
  [[nodiscard]] Result<void> write(CUdeviceptr to, const std::vector<std::byte>& bytes) const;
  [[nodiscard]] Result<std::vector<std::byte>> read(CUdeviceptr from, std::size_t bytes) const;
  [[nodiscard]] Result<void> wait(CUstream stream) const;

 private:
  Gpu(std::shared_ptr<const device::CudaContext> context, device::CudaContext::Scope scope)
      : context_(std::move(context)), scope_(std::move(scope)) {}

  std::shared_ptr<const device::CudaContext> context_;
  device::CudaContext::Scope scope_;
  std::size_t granule_ = 0, large_ = 0;
  CUstream stream_ = nullptr;
};

// Different bytes for every seed.
[[nodiscard]] std::vector<std::byte> pattern(std::size_t bytes, unsigned seed);

[[nodiscard]] inline double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}
[[nodiscard]] inline CUdeviceptr address_of(const std::byte* host) {
  return reinterpret_cast<CUdeviceptr>(host);
}
[[nodiscard]] inline std::byte* pointer_to(CUdeviceptr address) {
  return reinterpret_cast<std::byte*>(address);
}

}  // namespace aqua::first_contact
