// SPDX-License-Identifier: Apache-2.0
// Measures the curves of a device's links, with transfers like those of an engine: pieces
// scattered over many layers, each way through a Mover of its own.
//
// A time is a median over repetitions of the host's clock from before post() to the seen
// end, less what posting and seeing nothing takes. So the host's work of queueing many
// pieces counts, since the stream waits for it.
//
// Rows of the curves (pieces of one size) are added where the curve so far is furthest from
// what is then measured, until no row surprises or the time is up.
//
// Threads: blocks; run it where that is no harm. Calls may be concurrent, but disturb each
//          other's times. What the engine does meanwhile disturbs them as well.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>

#include "aqua/result.hpp"
#include "device/device.hpp"
#include "transfer/calibration/curve_set.hpp"

namespace aqua::transfer {

// Memory at the far end of a link, borrowed for the duration; its content is lost.
struct LinkMemory {
  Link link = Link::host;
  std::byte* base = nullptr;
  std::size_t bytes = 0;  // the most that one transfer moves; 64 MiB are enough
};

struct CalibrationOptions {
  std::chrono::milliseconds per_link{
      1600};                 // divided among directions and ways; four rows of each at least
  unsigned repetitions = 5;  // of each point, after one that does not count
  std::size_t smallest_piece = std::size_t{4} << 10;
  std::size_t largest_piece = std::size_t{4} << 20;
  // Asked between transfers; true ends the calibration with `cancelled`.
  std::function<bool()> stop{};
};

// Takes about as much memory of `device` as the largest link's, and staging. Links that are
// not given stay without curves, as do ways that the device does not offer, and those that it says
// were passed over for another (Device::copy_counts()).
//   invalid_argument    a link has less memory than the largest piece
//   resource_exhausted  the device has no memory to spare
//   cancelled           stop() said so
//   data_loss and others of the device
[[nodiscard]] Result<CurveSet> calibrate(device::Device& device, std::span<const LinkMemory> links,
                                         const CalibrationOptions& options = {});

}  // namespace aqua::transfer
