// SPDX-License-Identifier: Apache-2.0
// A batch as copy engines may get it: cut where one command may not reach across, which is
// wherever two registrations of host memory meet. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.hpp"

namespace aqua::device {

// The segments of `batch` in order, without those of no bytes, none of them across an address of
// `cuts` (ascending) on either side. The batch itself where that is so already, else written into
// `room`.
[[nodiscard]] std::span<const CopySegment> cut_segments(std::span<const CopySegment> batch,
                                                        std::span<const std::uintptr_t> cuts,
                                                        std::vector<CopySegment>& room);

}  // namespace aqua::device
