// SPDX-License-Identifier: Apache-2.0
// The devices that the contract suite runs over, by name; also for the peer process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace aqua::device {

[[nodiscard]] const std::vector<std::string>& device_kinds();
// Those over memfd: what is tested of these alone.
[[nodiscard]] const std::vector<std::string>& memfd_kinds();
// Why `kind` cannot be opened here; success where it can.
[[nodiscard]] Result<void> kind_available(const std::string& kind);
// Aborts for a name that is not one of these, or cannot be opened.
[[nodiscard]] std::unique_ptr<Device> open_kind(const std::string& kind, std::size_t total_bytes);

// A range with one slab mapped over all of it.
struct Place {
  std::unique_ptr<Slab> slab;
  std::unique_ptr<AddressRange> range;
  [[nodiscard]] std::byte* base() const { return range->base(); }
};
[[nodiscard]] Place place_slab(Device& device, std::unique_ptr<Slab> slab);
[[nodiscard]] Place make_place(Device& device, std::size_t bytes);

// Waits for all that was posted to `stream`.
[[nodiscard]] Result<void> finish(Device& device, Stream stream);
[[nodiscard]] CopyBatch one(std::byte* dst, const std::byte* src, std::size_t bytes);

// Pseudo-random bytes, the same for a seed in every process.
[[nodiscard]] std::vector<std::byte> pattern(std::size_t bytes, std::uint32_t seed);
// Between host memory and a device's, through its default stream.
void upload(Device& device, std::byte* dst, const std::vector<std::byte>& bytes);
[[nodiscard]] std::vector<std::byte> download(Device& device, const std::byte* src,
                                              std::size_t bytes);

}  // namespace aqua::device
