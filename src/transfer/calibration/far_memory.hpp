// SPDX-License-Identifier: Apache-2.0
// FarMemory: memory at the far end of a link, for calibration. As in real use: this device's
// own, a neighbour's slab that was exported and imported, or host memory registered with the
// device.
//
// Threads: one.
// Owns:    the memory. The devices outlive it; no work may be in flight on it when it ends.
#pragma once

#include <memory>

#include "device/device.hpp"
#include "transfer/calibration/calibrate.hpp"

namespace aqua::transfer {

class FarMemory {
 public:
  [[nodiscard]] static Result<std::unique_ptr<FarMemory>> local(device::Device& device,
                                                                std::size_t bytes);
  [[nodiscard]] static Result<std::unique_ptr<FarMemory>> peer(device::Device& device,
                                                               device::Device& neighbour,
                                                               std::size_t bytes);
  [[nodiscard]] static Result<std::unique_ptr<FarMemory>> host(device::Device& device,
                                                               std::size_t bytes);
  ~FarMemory();
  FarMemory(const FarMemory&) = delete;
  FarMemory& operator=(const FarMemory&) = delete;

  [[nodiscard]] LinkMemory link() const noexcept { return {link_, range_->base(), bytes_}; }

 private:
  FarMemory(device::Device& device, Link link, std::size_t bytes);
  // Takes a slab of `from` and maps it where `to` or the host can reach it.
  [[nodiscard]] Result<void> map(device::Device& from, device::Device& to);

  device::Device& device_;
  const Link link_;
  const std::size_t bytes_;
  std::unique_ptr<device::Device> host_;  // of a host link
  std::unique_ptr<device::Slab> slab_;
  std::unique_ptr<device::Slab> imported_;  // of a peer link
  std::unique_ptr<device::AddressRange> range_;
  bool registered_ = false;
};

inline constexpr std::size_t kCalibrationBytes = std::size_t{64} << 20;

// `bytes`, or for the link within `device` four times its cache where that is more: smaller copies
// run out of the cache at rates that larger ones do not see. (On an H100, of 50 MiB, copies of 64
// MiB made staging look faster than the kernel that is twice as fast on 1 GiB.)
[[nodiscard]] std::size_t calibration_bytes(const device::Device& device, Link link,
                                            std::size_t bytes = kCalibrationBytes);

// Calibrates the local and the host link, and the one to `neighbour` unless that is null.
// calibration_bytes() of `bytes` are taken of each device and of the host, rounded up to its
// granularity.
[[nodiscard]] Result<CurveSet> calibrate_links(device::Device& device, device::Device* neighbour,
                                               const CalibrationOptions& options = {},
                                               std::size_t bytes = kCalibrationBytes);

}  // namespace aqua::transfer
