// SPDX-License-Identifier: Apache-2.0
// Copies and clears large blocks at memory speed: past the caches where that is faster,
// because what moves through a stream is rarely read again soon by the same core.
//
// Threads: no state. Blocks do not overlap; any size and any alignment.
// Order:   another thread may see old bytes until this one has called bulk_finish(), even
//          if it synchronises by a lock. Call it once after the last block.
#pragma once

#include <cstddef>

namespace aqua::device {

// `next` is where the next block will be copied from, if it is known: its first bytes are
// fetched meanwhile, which is worth a quarter of the speed for scattered blocks.
void bulk_copy(std::byte* dst, const std::byte* src, std::size_t bytes,
               const std::byte* next = nullptr) noexcept;
void bulk_zero(std::byte* dst, std::size_t bytes) noexcept;
void bulk_finish() noexcept;

}  // namespace aqua::device
