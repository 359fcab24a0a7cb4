// SPDX-License-Identifier: Apache-2.0
// A batch as copy engines should get it: neighbours merged, since no driver does that; cut where
// one command may not reach across, which is wherever two registrations of host memory meet.
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.hpp"

namespace aqua::device {

// Writes the runs of `batch` into `runs`, in order, without those of no bytes. No run crosses an
// address of `cuts` (ascending) on either side. Without `merge` segments are only cut.
void make_runs(std::span<const CopySegment> batch, std::span<const std::uintptr_t> cuts, bool merge,
               std::vector<CopySegment>& runs);

[[nodiscard]] std::uint64_t total_bytes(std::span<const CopySegment> runs) noexcept;

}  // namespace aqua::device
