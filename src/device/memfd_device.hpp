// The two devices that need no GPU, both over anonymous shared files (memfd) with worker
// threads as streams: an emulated GPU and this server's DRAM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "device/device.hpp"

namespace aqua::device {

struct EmulatedOptions {
  unsigned ordinal = 0;                     // emu:N
  std::size_t total_bytes = std::size_t{1} << 30;
  // Behave as badly as CUDA may: seeded delays before work of unordered streams, device
  // addresses closed to host threads, remapping that is never atomic. Off for demos.
  bool hostile = false;
  std::uint64_t seed = 1;
  // 0: as fast as the host copies. Otherwise copies to or from another device's memory
  // are paced to this many bytes per second, to give a demo the shape of a real link.
  std::uint64_t link_bytes_per_second = 0;
};

// granularity 2 MiB, like CUDA's.
[[nodiscard]] Result<std::unique_ptr<Device>> open_emulated(const EmulatedOptions& options);

struct HostOptions {
  std::size_t total_bytes = 0;  // the most that slabs may take; 0: a quarter of this server's DRAM
};
// Slabs are touched when created, so that using them later cannot fail. Host addresses
// are ordinary addresses.
[[nodiscard]] Result<std::unique_ptr<Device>> open_host(const HostOptions& options);

// A host-usable address for a device address, for code that runs *as* device work (kernels
// of the emulated GPU). Identity for every other address. Never call it from host code.
[[nodiscard]] std::byte* kernel_view(std::byte* device_address) noexcept;
[[nodiscard]] const std::byte* kernel_view(const std::byte* device_address) noexcept;

// Runs `kernel` as one piece of work on an emulated or host device's stream.
// unimplemented on any other device.
[[nodiscard]] Result<void> launch(Device& device, Stream stream, std::function<void()> kernel);

// Test seam: from now on work that touches [address, address + bytes) fails with
// data_loss, as if the memory had died.
void poison_range(Device& device, const std::byte* address, std::size_t bytes);

}  // namespace aqua::device
