// SPDX-License-Identifier: Apache-2.0
// The work that memfd devices run on their streams: copies and scrubs.
//
// Addresses are device addresses; they are translated (kernel_view) when the work runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/device.hpp"
#include "device/memfd/range.hpp"

namespace aqua::device {

// Bytes a second over the links of a device; 0: as fast as the host copies.
struct LinkPace {
  std::uint64_t peer = 0;  // an end is imported, and none is in host memory
  std::uint64_t host = 0;  // an end is neither this device's nor imported
};

// Both run on a stream's thread. False, and nothing moved, when a range is poisoned.
// Copies take at least the time that `pace` gives their bytes; within regions.own, any.
[[nodiscard]] bool run_copy(const std::vector<CopySegment>& batch, const MappedRegions& regions,
                            const LinkPace& pace);
[[nodiscard]] bool run_scrub(std::byte* dst, std::size_t bytes, const MappedRegions& regions);

}  // namespace aqua::device
