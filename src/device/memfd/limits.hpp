// SPDX-License-Identifier: Apache-2.0
// Sizes that every memfd device shares, so that each can map the others' slabs.
#pragma once

#include <cstddef>

namespace aqua::device {

inline constexpr std::size_t kGranularity = std::size_t{2} << 20;

}  // namespace aqua::device
