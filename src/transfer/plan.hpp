// SPDX-License-Identifier: Apache-2.0
// From a layout and a block list to the copies that move them: pure arithmetic.
#pragma once

#include <cstddef>
#include <vector>

#include "aqua/layout.hpp"
#include "device/device.hpp"
#include "transfer/link.hpp"
#include "transfer/pieces.hpp"

namespace aqua::transfer {

// A slice [begin, end) of the packed form (aqua/layout.hpp) of `blocks`, whose byte
// `begin` lies at `address`.
struct PackedSlice {
  const Layout& layout;
  BlockList blocks;  // checked
  std::size_t begin = 0;
  std::size_t end = 0;
  std::byte* address = nullptr;
};

// The copies for the slice, in packed order: from the cache for an offload, to it for a
// fetch. Pieces of one plane that are neighbours on both sides are one copy. (Planes that lie
// side by side may be two allocations, and a copy engine takes no copy across two.) No copy is
// larger than max_copy_bytes (not zero). Linear in the number of runs.
[[nodiscard]] std::vector<device::CopySegment> plan(const PackedSlice& slice, Direction direction,
                                                    std::size_t max_copy_bytes);

// The copies that the whole packed form takes, by size: exact but for splitting.
[[nodiscard]] Pieces pieces_of(const Layout& layout, BlockList blocks);

// One contiguous piece under the same limit.
[[nodiscard]] std::vector<device::CopySegment> plan_bulk(std::byte* dst, const std::byte* src,
                                                         std::size_t bytes,
                                                         std::size_t max_copy_bytes);

}  // namespace aqua::transfer
