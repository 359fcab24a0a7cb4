// SPDX-License-Identifier: Apache-2.0
#include "lending/suballocator.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::lending {

using State = BlockMap::State;

Result<Suballocator> Suballocator::create(std::size_t capacity_bytes,
                                          const SuballocatorOptions& options) {
  if (options.alignment < 512 || !std::has_single_bit(options.alignment)) {
    return Error{Code::invalid_argument, concat("suballocator: alignment ", options.alignment,
                                                " is not a power of two of at least 512")};
  }
  const auto shift = static_cast<unsigned>(std::countr_zero(options.alignment));
  if (capacity_bytes == 0 || capacity_bytes % options.alignment != 0 ||
      (capacity_bytes >> shift) >= BlockMap::kNone) {
    return Error{Code::invalid_argument,
                 concat("suballocator: capacity ", capacity_bytes, " must be 1 to ",
                        BlockMap::kNone - 1, " times the alignment ", options.alignment)};
  }
  return Suballocator(capacity_bytes, shift, options.expected_blocks);
}

Suballocator::Suballocator(std::size_t capacity_bytes, unsigned shift, std::size_t expected_blocks)
    : capacity_(capacity_bytes), shift_(shift), blocks_(capacity_bytes, shift, expected_blocks) {}

// --- regions ------------------------------------------------------------------------------

Result<void> Suballocator::add_region(std::size_t offset, std::size_t bytes) {
  AQUA_TRY(check_range("add_region", offset, bytes));
  const auto after = regions_.lower_bound(offset);
  const auto overlapping = [&](auto region) {
    return region->first < offset + bytes && offset < region->first + region->second.bytes;
  };
  if ((after != regions_.end() && overlapping(after)) ||
      (after != regions_.begin() && overlapping(std::prev(after)))) {
    return Error{Code::already_exists, concat("add_region: [", offset, ", +", bytes,
                                              ") overlaps a region not yet removed")};
  }
  regions_.emplace_hint(after, offset, Region{bytes, false});
  (void)blocks_.set_range(blocks_.block_at(offset), offset, bytes, State::absent, State::free);
  return {};
}

Result<void> Suballocator::retire_region(std::size_t offset, std::size_t bytes) {
  const auto region = regions_.find(offset);
  if (region == regions_.end() || region->second.bytes != bytes) {
    return Error{Code::not_found, concat("retire_region: no region [", offset, ", +", bytes, ")")};
  }
  if (region->second.retired) return {};
  region->second.retired = true;
  retired_bytes_ += bytes;
  (void)blocks_.set_range(blocks_.block_at(offset), offset, bytes, State::free, State::absent);
  for (std::uint32_t i = blocks_.block_at(offset);
       i != BlockMap::kNone && blocks_.at(i).offset < offset + bytes; i = blocks_.at(i).right) {
    if (blocks_.at(i).state == State::used) blocks_.set_condemned(i, true);
  }
  return {};
}

Result<void> Suballocator::remove_region(std::size_t offset, std::size_t bytes) {
  const auto region = regions_.find(offset);
  if (region == regions_.end() || region->second.bytes != bytes) {
    return Error{Code::not_found, concat("remove_region: no region [", offset, ", +", bytes, ")")};
  }
  if (!region->second.retired || !region_empty(offset, bytes)) {
    return Error{Code::failed_precondition,
                 concat("remove_region: [", offset, ", +", bytes, ") ",
                        region->second.retired ? "still holds allocations" : "is not retired")};
  }
  retired_bytes_ -= bytes;
  regions_.erase(region);
  return {};
}

bool Suballocator::region_empty(std::size_t offset, std::size_t bytes) const {
  if (offset >= capacity_) return true;
  const std::size_t end = offset + std::min(bytes, capacity_ - offset);
  for (std::uint32_t i = blocks_.block_at(offset);
       i != BlockMap::kNone && blocks_.at(i).offset < end; i = blocks_.at(i).right) {
    if (blocks_.at(i).state == State::used) return false;
  }
  return true;
}

std::vector<Allocation> Suballocator::allocations_in(std::size_t offset, std::size_t bytes) const {
  std::vector<Allocation> found;
  if (offset >= capacity_) return found;
  const std::size_t end = offset + std::min(bytes, capacity_ - offset);
  for (std::uint32_t i = blocks_.block_at(offset);
       i != BlockMap::kNone && blocks_.at(i).offset < end; i = blocks_.at(i).right) {
    const BlockMap::Block& n = blocks_.at(i);
    if (n.state == State::used) found.push_back(Allocation{n.offset, n.bytes, i, n.serial});
  }
  return found;
}

// --- allocations --------------------------------------------------------------------------

Result<Allocation> Suballocator::allocate(std::size_t bytes) {
  if (bytes == 0) return Error{Code::invalid_argument, "allocate: 0 bytes"};
  // Compared before rounding up, which could overflow.
  const std::size_t mask = alignment() - 1;
  const std::size_t rounded = bytes > capacity_ ? 0 : (bytes + mask) & ~mask;
  const std::uint32_t index = rounded == 0 ? BlockMap::kNone : blocks_.take(rounded);
  if (index == BlockMap::kNone) {
    return Error{Code::resource_exhausted,
                 concat("allocate: no free block for ", bytes, " bytes; ", blocks_.free_bytes(),
                        " bytes are free in ", blocks_.free_blocks(), " blocks")};
  }
  ++allocations_;
  allocated_bytes_ += rounded;
  const BlockMap::Block& block = blocks_.at(index);
  return Allocation{block.offset, block.bytes, index, block.serial};
}

Result<void> Suballocator::free(const Allocation& allocation) {
  const std::size_t offset = allocation.offset;
  const BlockMap::Block* block = blocks_.find(allocation.node);
  if (block == nullptr || block->state != State::used ||
      allocation != Allocation{block->offset, block->bytes, allocation.node, block->serial}) {
    return Error{Code::invalid_argument,
                 concat("free: no allocation [", offset, ", +", allocation.bytes,
                        ") is in force with serial ", allocation.serial)};
  }
  --allocations_;
  allocated_bytes_ -= allocation.bytes;
  const bool condemned = block->condemned;
  blocks_.set_condemned(allocation.node, false);
  std::uint32_t whole = blocks_.give(allocation.node);
  if (!condemned) return {};
  // Only the parts in retired regions leave; walking from `whole` keeps this independent of
  // how many other blocks those hold.
  const std::size_t end = offset + allocation.bytes;
  for (auto r = std::prev(regions_.upper_bound(offset)); r != regions_.end() && r->first < end;
       ++r) {
    if (!r->second.retired) continue;
    const std::size_t from = std::max(offset, r->first);
    const std::size_t to = std::min(end, r->first + r->second.bytes);
    whole = blocks_.set_range(whole, from, to - from, State::free, State::absent);
  }
  return {};
}

SuballocatorStats Suballocator::stats() const {
  return SuballocatorStats{.allocated_bytes = allocated_bytes_,
                           .allocations = allocations_,
                           .free_bytes = blocks_.free_bytes(),
                           .free_blocks = blocks_.free_blocks(),
                           .largest_free_bytes = blocks_.largest_free_bytes(),
                           .retired_bytes = retired_bytes_};
}

Result<void> Suballocator::check_range(const char* operation, std::size_t offset,
                                       std::size_t bytes) const {
  const std::size_t mask = alignment() - 1;
  if (bytes != 0 && (offset & mask) == 0 && (bytes & mask) == 0 && offset <= capacity_ &&
      bytes <= capacity_ - offset) {
    return {};
  }
  return Error{Code::invalid_argument,
               concat(operation, ": [", offset, ", +", bytes, ") is empty, not aligned to ",
                      alignment(), ", or outside the arena of ", capacity_)};
}

}  // namespace aqua::lending
