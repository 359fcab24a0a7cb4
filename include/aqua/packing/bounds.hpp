// SPDX-License-Identifier: Apache-2.0
// How few engines could hold a set of requests: a bound from below, and a packing from above. They
// know all sizes at once and move nothing, so that they say how good a packer's plan is.
//
// Threads: plain functions.
// Units: any, the same for sizes and capacity.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "aqua/export.h"
#include "aqua/result.hpp"

namespace aqua::packing {

// No packing has fewer bins: Martello and Toth's L2 (1990), over all thresholds. O(n log n).
// invalid_argument: capacity 0, or a size above it.
[[nodiscard]] AQUA_API Result<std::uint64_t> lower_bound(std::span<const std::uint64_t> sizes,
                                                         std::uint64_t capacity);

struct OfflinePacking {
  std::vector<std::uint64_t> bin_of;  // by the place in `sizes`
  std::uint64_t bins = 0;
};

// Packs by best fit decreasing: the largest first, each where the least room is left. At most
// 11/9 of the best packing, and 4 (Johnson 1973; the constant of first fit decreasing). O(n log n).
// invalid_argument as above.
[[nodiscard]] AQUA_API Result<OfflinePacking> pack_offline(std::span<const std::uint64_t> sizes,
                                                           std::uint64_t capacity);

}  // namespace aqua::packing
