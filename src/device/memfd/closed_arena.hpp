// SPDX-License-Identifier: Apache-2.0
// The closed addresses of this process: two ranges at a constant distance, reserved once.
// What the hostile emulated GPU hands out lies in the first and is never accessible; its
// slabs are mapped at the same place of the second. So translating needs no table.
//
// Threads: safe anywhere. Never destroyed: addresses may be in use until the process ends.
#pragma once

#include <cstddef>

namespace aqua::device {

// Alignment of every allocation.
inline constexpr std::size_t kClosedAlignment = std::size_t{2} << 20;

// `bytes` of closed addresses, a multiple of kClosedAlignment; null when there is no room.
// A gap follows, so that running over the end faults.
[[nodiscard]] std::byte* allocate_closed(std::size_t bytes);
// Nothing is mapped at the view any more.
void release_closed(const std::byte* address, std::size_t bytes);

// Where a closed address is really mapped; any other address comes back unchanged.
[[nodiscard]] std::byte* closed_view(std::byte* address) noexcept;

}  // namespace aqua::device
