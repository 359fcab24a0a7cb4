// SPDX-License-Identifier: Apache-2.0
// Suballocator hands out ranges of an arena whose memory comes and goes a slab at a time.
//
// The arena is a reserved address range of `capacity_bytes`; a *region* is the part of it
// where one slab is mapped. Free space of neighbouring regions is one, so an allocation may
// span slabs. The algorithm is TLSF (M. Masmano, I. Ripoll, A. Crespo, J. Real: "TLSF: a New
// Dynamic Memory Allocator for Real-Time Systems", ECRTS 2004): constant time to allocate
// and to free. Its block headers are kept here and not in the blocks: the memory managed is
// a device's and is never touched.
//
// Threads: not thread-safe; the tensor table's mutex guards it.
// Owns:    only bookkeeping. Mapping, unmapping and scrubbing are the caller's.
// Units:   bytes; offsets count from the arena's base.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "aqua/result.hpp"
#include "lending/block_map.hpp"

namespace aqua::lending {

// A range lent by allocate(). Give it back to free() unchanged; `node` and `serial` let free()
// find its header at once and refuse one that was freed before.
struct Allocation {
  std::size_t offset = 0;
  std::size_t bytes = 0;  // what was asked for, rounded up to the alignment
  std::uint32_t node = 0;
  std::uint32_t serial = 0;
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

struct SuballocatorOptions {
  std::size_t alignment = 512;  // of every offset and size; a power of two, at least 512
  // Headers to make room for at once (40 bytes each, touched only when used). Beyond it one
  // allocation in a long while pays for moving them all.
  std::size_t expected_blocks = std::size_t{1} << 16;
};

struct SuballocatorStats {
  std::size_t allocated_bytes = 0;  // in retired regions too
  std::size_t allocations = 0;
  std::size_t free_bytes = 0;  // what allocate() can still hand out, in pieces
  std::size_t free_blocks = 0;
  std::size_t largest_free_bytes = 0;
  std::size_t retired_bytes = 0;  // regions retired and not yet removed

  // 0: all free bytes are in one piece. 1: none would help a large request.
  [[nodiscard]] double external_fragmentation() const noexcept {
    if (free_bytes == 0) return 0.0;
    return 1.0 - static_cast<double>(largest_free_bytes) / static_cast<double>(free_bytes);
  }
};

class Suballocator {
 public:
  // An arena without regions. invalid_argument when the alignment is not as said above or
  // `capacity_bytes` is 0, no multiple of it, or beyond what 2^32 headers could describe.
  [[nodiscard]] static Result<Suballocator> create(std::size_t capacity_bytes,
                                                   const SuballocatorOptions& options = {});

  // --- regions: rare, may take time proportional to the blocks they touch ----------------
  // Puts [offset, offset + bytes) up for allocation. invalid_argument when unaligned or
  // outside the arena, already_exists when it overlaps a region not yet removed.
  [[nodiscard]] Result<void> add_region(std::size_t offset, std::size_t bytes);
  // From now on nothing is allocated here. What is free leaves at once, the rest as it is
  // freed. not_found unless exactly this region was added; retiring twice does nothing.
  [[nodiscard]] Result<void> retire_region(std::size_t offset, std::size_t bytes);
  // Forgets a retired region; its place may be added again. failed_precondition while it is
  // not retired or an allocation still touches it.
  [[nodiscard]] Result<void> remove_region(std::size_t offset, std::size_t bytes);
  // True when no allocation touches the range, whatever regions it covers.
  [[nodiscard]] bool region_empty(std::size_t offset, std::size_t bytes) const;
  // The allocations that touch the range, by offset.
  [[nodiscard]] std::vector<Allocation> allocations_in(std::size_t offset, std::size_t bytes) const;

  // --- allocations: constant time ---------------------------------------------------------
  // invalid_argument for 0 bytes. resource_exhausted when no free block is large enough; a
  // block that exceeds the request by less than 1/32 may then go unnoticed, which is what
  // keeps the search short.
  [[nodiscard]] Result<Allocation> allocate(std::size_t bytes);
  // invalid_argument when `allocation` is not one in force: freed before, or not ours.
  [[nodiscard]] Result<void> free(const Allocation& allocation);

  [[nodiscard]] SuballocatorStats stats() const;
  [[nodiscard]] std::size_t capacity_bytes() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t alignment() const noexcept { return std::size_t{1} << shift_; }

 private:
  struct Region {
    std::size_t bytes = 0;
    bool retired = false;
  };

  Suballocator(std::size_t capacity_bytes, unsigned shift, std::size_t expected_blocks);

  [[nodiscard]] Result<void> check_range(const char* operation, std::size_t offset,
                                         std::size_t bytes) const;

  std::size_t capacity_;
  unsigned shift_;                         // log2 of the alignment
  std::map<std::size_t, Region> regions_;  // by offset; disjoint
  BlockMap blocks_;                        // not absent: in a region, and free unless retired
  std::size_t allocations_ = 0;
  std::size_t allocated_bytes_ = 0;
  std::size_t retired_bytes_ = 0;
};

}  // namespace aqua::lending
