// SPDX-License-Identifier: Apache-2.0
// The digest that goes into a segment's name.
#pragma once

#include <cstddef>
#include <span>

#include "aqua/handoff/segment.hpp"

namespace aqua {

[[nodiscard]] SegmentDigest digest_of(std::span<const std::byte> bytes);

}  // namespace aqua
