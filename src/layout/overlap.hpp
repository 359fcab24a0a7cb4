// SPDX-License-Identifier: Apache-2.0
// Whether two blocks of a layout share a byte. Exact for any strides: planes may interleave
// (blocks outermost, layers within) as long as no byte has two owners.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "aqua/layout.hpp"
#include "aqua/result.hpp"

namespace aqua::layout {

// The most bytes between the first and the last byte of one plane.
inline constexpr std::size_t kMaxExtent = std::size_t{1} << 59;

using PlanePair = std::pair<std::size_t, std::size_t>;

// Two planes (perhaps the same one twice) with runs that share bytes. Sizes are checked
// already; `extent` is plane_extent(spec), at most 5 * kMaxExtent. Pure.
// invalid_argument: strides that do not nest, so that to compare all pieces would take seconds.
[[nodiscard]] Result<std::optional<PlanePair>> find_overlap(const LayoutSpec& spec,
                                                            std::size_t extent);

}  // namespace aqua::layout
