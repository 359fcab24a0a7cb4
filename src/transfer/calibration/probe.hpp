// SPDX-License-Identifier: Apache-2.0
// Probe: one transfer of given shape, repeated and timed. Calibration's hands.
//
// Threads: one.
// Owns:    a cache of its own on the device, a stream and a Mover.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "device/own_stream.hpp"
#include "transfer/calibration/calibrate.hpp"
#include "transfer/transfer.hpp"

namespace aqua::transfer {

class Probe {
 public:
  using Clock = std::chrono::steady_clock;

  // Moves up to `bytes` in pieces of up to `largest_piece`.
  [[nodiscard]] static Result<std::unique_ptr<Probe>> create(device::Device& device,
                                                             std::size_t bytes,
                                                             const CalibrationOptions& options);
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // The point nearest to the wanted one that whole pieces allow. None where the device says of
  // every repetition that something of it was passed over: the time would be another way's.
  [[nodiscard]] Result<std::optional<CurvePoint>> measure(const LinkMemory& far,
                                                          Direction direction, Way way,
                                                          std::size_t piece_bytes,
                                                          std::size_t bytes);
  // Whether the way is one of its own on this device and stream.
  [[nodiscard]] bool offers(Way way) const;

 private:
  Probe(device::Device& device, const CalibrationOptions& options);
  [[nodiscard]] Result<Clock::duration> once(const TransferRequest& request);
  [[nodiscard]] static Clock::duration middle_of(std::vector<Clock::duration>& times);

  device::Device& device_;
  const CalibrationOptions& options_;
  std::unique_ptr<device::Slab> slab_;
  std::unique_ptr<device::AddressRange> cache_;
  device::OwnStream stream_;
  std::unique_ptr<Mover> mover_;
};

}  // namespace aqua::transfer
