// SPDX-License-Identifier: Apache-2.0
// What every device refuses before it queues anything.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "device/device.hpp"
#include "device/region_set.hpp"

namespace aqua::device {

// invalid_argument for an empty batch, a null address with bytes, or a range that wraps.
[[nodiscard]] Result<void> check_batch(const CopyBatch& batch);
// What Device::prepare_blocks() refuses.
[[nodiscard]] Result<void> check_blocks(const BlockBatch& blocks);
// invalid_argument for no piece, one that `blocks` does not have, or a line at null or that wraps.
[[nodiscard]] Result<void> check_pieces(const BlockCopy& blocks, const PieceRange& pieces);
// What one side's blocks take of each of its planes: where the first begins, where the last ends.
// The blocks have been checked, and the side is no line.
[[nodiscard]] std::pair<std::size_t, std::size_t> extent_of(const BlockCopy& blocks,
                                                            const BlockEnd& end) noexcept;
[[nodiscard]] Result<void> check_scrub(const std::byte* dst, std::size_t bytes);

// permission_denied where a destination touches `read_only`. Without a read-only mapping between
// the first and the last destination this costs one look a segment.
[[nodiscard]] Result<void> check_destinations(std::span<const CopySegment> batch,
                                              const RegionSet& read_only);
[[nodiscard]] Result<void> check_destination(const char* what, const std::byte* dst,
                                             std::size_t bytes, const RegionSet& read_only);

// invalid_argument unless `bytes` is a positive multiple of `granularity`.
[[nodiscard]] Result<void> check_size(const char* what, std::size_t bytes, std::size_t granularity);

// elapsed()'s refusals of one of its events: invalid_argument where it is not timed,
// failed_precondition where it was never recorded.
[[nodiscard]] Result<void> check_timed(bool timed, bool recorded);
// And of one whose point is not reached yet.
[[nodiscard]] Error not_reached();

// The error for an object of another device's.
[[nodiscard]] Error not_ours(const char* what, const char* object);

}  // namespace aqua::device
