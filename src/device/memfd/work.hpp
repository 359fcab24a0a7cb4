// SPDX-License-Identifier: Apache-2.0
// The work that memfd devices run on their streams: copies and scrubs.
//
// Addresses are device addresses; they are translated (kernel_view) when the work runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/device.hpp"
#include "device/memfd/links.hpp"
#include "device/memfd/range.hpp"

namespace aqua::device {

// All run on a stream's thread. False, and nothing moved, when a range is poisoned.
// A copy takes at least the time that it has of the links.
[[nodiscard]] bool run_copy(const std::vector<CopySegment>& batch, const MappedRegions& regions,
                            Links& links);
[[nodiscard]] bool run_copy(const BlockCopy& blocks, const PieceRange& pieces,
                            const MappedRegions& regions, Links& links);
[[nodiscard]] bool run_scrub(std::byte* dst, std::size_t bytes, const MappedRegions& regions);

}  // namespace aqua::device
