// SPDX-License-Identifier: Apache-2.0
// From a layout and the runs of a block list to the copies that move them: pure arithmetic.
#pragma once

#include <cstddef>
#include <vector>

#include "aqua/layout.hpp"
#include "device/device.hpp"
#include "layout/block_runs.hpp"
#include "transfer/link.hpp"

namespace aqua::transfer {

// A slice [begin, end) of the packed form (aqua/layout.hpp) of the listed blocks, whose byte
// `begin` lies at `address`.
struct PackedSlice {
  const Layout& layout;
  const layout::BlockRuns& runs;  // of this layout
  std::size_t begin = 0;
  std::size_t end = 0;
  std::byte* address = nullptr;
};

// Writes the copies for the slice over what `copies` holds, in packed order: from the cache for
// an offload, to it for a fetch. A run is one copy in each plane. (Planes that lie side by side
// may be two allocations, and a copy engine takes no copy across two.) No copy is larger than
// max_copy_bytes (not zero).
void plan(const PackedSlice& slice, Direction direction, std::size_t max_copy_bytes,
          std::vector<device::CopySegment>& copies);

// One contiguous piece under the same limit.
[[nodiscard]] std::vector<device::CopySegment> plan_bulk(std::byte* dst, const std::byte* src,
                                                         std::size_t bytes,
                                                         std::size_t max_copy_bytes);

}  // namespace aqua::transfer
