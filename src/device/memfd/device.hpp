// SPDX-License-Identifier: Apache-2.0
// The two devices that need no GPU, both over anonymous shared files (memfd) with worker
// threads as streams: an emulated GPU and this server's DRAM.
//
// A slab of either can be mapped on either, and their events order each other's streams.
// Slabs, ranges and events may outlive their device. Destroying a device first runs all that
// is queued on its streams; nobody may post to it by then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "device/device.hpp"

namespace aqua::device {

struct EmulatedOptions {
  unsigned ordinal = 0;  // emu:N
  std::size_t total_bytes = std::size_t{1} << 30;
  // Behave as badly as CUDA may: seeded delays before work of unordered streams, device
  // addresses closed to host threads, remapping that is never atomic. Off for demos.
  bool hostile = false;
  std::uint64_t seed = 1;
  // Paces copies that have an end outside the slabs that this device created itself, to give them
  // the shape of real links: bytes per second, each way. All streams of the device share a link.
  // 0: as fast as the host copies.
  std::uint64_t link_bytes_per_second = 0;  // to host memory
  // To other devices' slabs, where these are mapped. 0: link_bytes_per_second.
  std::uint64_t peer_bytes_per_second = 0;
};

// granularity 2 MiB, like CUDA's. Capacity counts the slabs that live here, not mappings:
// destroying the handle gives the bytes back.
[[nodiscard]] Result<std::unique_ptr<Device>> open_emulated(const EmulatedOptions& options);

struct HostOptions {
  std::size_t total_bytes = 0;  // the most that slabs may take; 0: a quarter of this server's DRAM
};
// Slabs are touched when created, so that using them later cannot fail. Host addresses
// are ordinary addresses. granularity 2 MiB.
[[nodiscard]] Result<std::unique_ptr<Device>> open_host(const HostOptions& options);
// What its info() has, the same in every process until the next boot.
[[nodiscard]] DeviceUuid host_uuid();

// A host-usable address for a device address, for code that runs *as* device work (kernels
// of the emulated GPU). Identity for every other address. Never call it from host code.
[[nodiscard]] std::byte* kernel_view(std::byte* device_address) noexcept;
[[nodiscard]] const std::byte* kernel_view(const std::byte* device_address) noexcept;

// Runs `kernel` as one piece of work on an emulated or host device's stream.
// unimplemented on any other device.
[[nodiscard]] Result<void> launch(Device& device, Stream stream, std::function<void()> kernel);

// Test seam: from now on copies and scrubs on `device` that touch [address, address + bytes)
// move nothing and fail with data_loss, as if the memory had died; until the slab there is
// unmapped. Nothing on any other kind of device.
void poison_range(Device& device, const std::byte* address, std::size_t bytes);

// Test seam: `device` says that this stream is being captured into a graph; nothing: none is. What
// is posted to it runs all the same. Nothing on any other kind of device.
void pretend_capture(Device& device, std::optional<Stream> stream);

// Test seam: while it is `silent`, `device` answers no question about an event (unavailable). What
// is posted runs all the same. Nothing on any other kind of device.
void pretend_silence(Device& device, bool silent);

}  // namespace aqua::device
