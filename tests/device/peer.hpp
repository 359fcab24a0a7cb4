// SPDX-License-Identifier: Apache-2.0
// What the test and its peer process agree on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aqua::device {

inline constexpr std::size_t kPeerSlabBytes = std::size_t{4} << 20;
inline constexpr std::uint32_t kLenderSeed = 11;    // what a lender leaves in its slab
inline constexpr std::uint32_t kBorrowerSeed = 12;  // what a borrower does

}  // namespace aqua::device
