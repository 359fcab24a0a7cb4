// SPDX-License-Identifier: Apache-2.0
// Legacy cudaIpc: the last resort, for memory that the engine allocated itself with cudaMalloc.
// Slabs never need it.
//
// What it cannot do, and is therefore refused loudly: memory of virtual memory management
// (PyTorch's expandable segments), of pools (cudaMallocAsync), managed or host memory. A silent
// detour would be hundreds of times slower.
//
// Mind: a handle stands for the whole allocation, so the importer can reach the neighbours of
// what is meant; the exporter must not free before the importer has closed; and work on it after
// the exporter's death can poison the importer's context.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/device.hpp"

namespace aqua::device {

struct IpcHandle {
  std::array<std::byte, 64> native{};  // CUipcMemHandle
  DeviceUuid device{};                 // of the exporter; the importer may use another GPU
  std::uint64_t offset = 0;            // of the memory inside the allocation
  std::uint64_t bytes = 0;
};

// What the driver says of an address.
struct IpcFacts {
  bool known = false;    // to CUDA at all
  bool host = false;     // host memory
  bool managed = false;  // cudaMallocManaged
  bool pooled = false;   // cudaMallocAsync
  bool capable = false;  // "legacy CUDA IPC capable"
  std::size_t left = 0;  // bytes from the address to its allocation's end
};
// Success, or why memory of these facts cannot be shared so and what to do about it:
// failed_precondition, or invalid_argument for a range that leaves its allocation. Pure.
[[nodiscard]] Result<void> check_ipc(const IpcFacts& facts, std::size_t bytes);

// Memory imported so; unmapped when destroyed: no work may be in flight on it.
class IpcMemory {
 public:
  virtual ~IpcMemory() = default;
  IpcMemory(const IpcMemory&) = delete;
  IpcMemory& operator=(const IpcMemory&) = delete;
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 protected:
  IpcMemory(std::byte* data, std::size_t bytes) noexcept : data_(data), bytes_(bytes) {}

 private:
  std::byte* data_;
  std::size_t bytes_;
};

[[nodiscard]] Result<IpcHandle> export_ipc(Device& device, const std::byte* address,
                                           std::size_t bytes);
// In another process than the exporter's: CUDA refuses its own.
[[nodiscard]] Result<std::unique_ptr<IpcMemory>> import_ipc(Device& device,
                                                            const IpcHandle& handle);

}  // namespace aqua::device
