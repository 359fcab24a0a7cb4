// SPDX-License-Identifier: Apache-2.0
#include "device/work_checks.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::device {
namespace {

// 1 for a range of no bytes, or one that neither begins at null nor wraps; else 0. Computed without
// a branch, since a batch may be of many thousand ranges.
unsigned valid_range(const std::byte* address, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const unsigned empty = bytes == 0 ? 1 : 0;
  const unsigned null = begin == 0 ? 1 : 0;
  const unsigned wraps = begin + bytes < begin ? 1 : 0;
  return empty | (1 ^ (null | wraps));
}

unsigned valid(const CopySegment& s) {
  return valid_range(s.dst, s.bytes) & valid_range(s.src, s.bytes);
}

Error bad_blocks(const std::string& what) {
  return Error{Code::invalid_argument, concat("copy by blocks: ", what)};
}

// The least and the greatest number of a block. A plain loop, which the compiler vectorises.
std::pair<std::size_t, std::size_t> ids_of(const BlockCopy& blocks, const BlockEnd& end) {
  if (end.ids.empty()) return {0, blocks.blocks - 1};
  std::uint32_t first = end.ids.front();
  std::uint32_t last = first;
  for (const std::uint32_t id : end.ids) {
    first = std::min(first, id);
    last = std::max(last, id);
  }
  return {first, last};
}

// Adds count * stride; false where that overflows.
bool add(std::size_t& sum, std::size_t count, std::size_t stride) {
  std::size_t product = 0;
  return !__builtin_mul_overflow(count, stride, &product) &&
         !__builtin_add_overflow(sum, product, &sum);
}

// From where the last block of a side begins to the end of its last piece.
bool add_block(std::size_t& sum, const BlockCopy& blocks, const BlockEnd& end) {
  return add(sum, blocks.outer - 1, end.outer_stride) &&
         add(sum, blocks.inner - 1, end.inner_stride) && add(sum, 1, blocks.piece_bytes);
}

Result<void> check_end(const char* name, const BlockCopy& blocks, const BlockEnd& end) {
  if (end.planes.empty()) return {};
  if (!end.ids.empty() && end.ids.size() != blocks.blocks) {
    return bad_blocks(
        concat(end.ids.size(), " ids at the ", name, " for ", blocks.blocks, " blocks of a plane"));
  }
  std::size_t extent = 0;
  const bool counted =
      add(extent, ids_of(blocks, end).second, end.block_stride) && add_block(extent, blocks, end);
  for (std::size_t p = 0; p < end.planes.size(); ++p) {
    if (counted && valid_range(end.planes[p], extent) == 1) continue;
    return bad_blocks(
        concat("plane ", p, " of the ", name, " is null, or its blocks lie past the last address"));
  }
  return {};
}

}  // namespace

Result<void> check_blocks(const BlockBatch& blocks) {
  if (blocks == nullptr) return bad_blocks("there is no piece");
  std::size_t bytes = blocks->piece_bytes;
  for (const std::size_t times : {blocks->planes(), std::size_t{blocks->blocks},
                                  std::size_t{blocks->outer}, std::size_t{blocks->inner}}) {
    if (times == 0 || bytes == 0) return bad_blocks("there is no piece");
    if (__builtin_mul_overflow(bytes, times, &bytes)) return bad_blocks("too many bytes");
  }
  const std::size_t dst = blocks->dst.planes.size();
  const std::size_t src = blocks->src.planes.size();
  if (dst != src && dst != 0 && src != 0) {
    return bad_blocks(concat(src, " planes at the source, ", dst, " at the destination"));
  }
  AQUA_TRY(check_end("destination", *blocks, blocks->dst));
  return check_end("source", *blocks, blocks->src);
}

Result<void> check_pieces(const BlockCopy& blocks, const PieceRange& pieces) {
  const std::size_t all = blocks.pieces();
  if (pieces.count == 0 || pieces.first > all || pieces.count > all - pieces.first) {
    return bad_blocks(concat(pieces.count, " pieces from number ", pieces.first, " on, of ", all));
  }
  const bool line = blocks.dst.planes.empty() || blocks.src.planes.empty();
  if (!line || valid_range(pieces.line, pieces.count * blocks.piece_bytes) == 1) return {};
  return bad_blocks("the line begins at null, or ends past the last address");
}

std::pair<std::size_t, std::size_t> extent_of(const BlockCopy& blocks,
                                              const BlockEnd& end) noexcept {
  const auto [first, last] = ids_of(blocks, end);
  std::size_t finish = last * end.block_stride;
  (void)add_block(finish, blocks, end);
  return {first * end.block_stride, finish};
}

Result<void> check_batch(const CopyBatch& batch) {
  if (batch == nullptr || batch->empty()) {
    return Error{Code::invalid_argument, "copy: the batch has no segment"};
  }
  unsigned all = 1;
  for (const CopySegment& s : *batch) all &= valid(s);
  if (all == 1) return {};
  const auto first = std::ranges::find(*batch, 0U, valid);
  return Error{Code::invalid_argument,
               concat("copy: segment ", first - batch->begin(), ": ", first->bytes,
                      " bytes from or to a null address, or past the last one")};
}

Result<void> check_scrub(const std::byte* dst, std::size_t bytes) {
  if (valid_range(dst, bytes) == 1) return {};
  return Error{Code::invalid_argument,
               concat("scrub: ", bytes, " bytes at a null address, or past the last one")};
}

Result<void> check_destinations(std::span<const CopySegment> batch, const RegionSet& read_only) {
  if (read_only.empty()) return {};
  const std::byte* first = nullptr;
  const std::byte* last = nullptr;
  for (const CopySegment& s : batch) {
    if (s.bytes == 0) continue;
    first = first == nullptr ? s.dst : std::min<const std::byte*>(first, s.dst);
    last = std::max<const std::byte*>(last, s.dst + s.bytes);
  }
  if (!read_only.touches(first, static_cast<std::size_t>(last - first))) return {};
  for (const CopySegment& s : batch) AQUA_TRY(check_destination("copy", s.dst, s.bytes, read_only));
  return {};
}

Result<void> check_destination(const char* what, const std::byte* dst, std::size_t bytes,
                               const RegionSet& read_only) {
  if (!read_only.touches(dst, bytes)) return {};
  return Error{Code::permission_denied,
               concat(what, ": ", bytes, " bytes to memory that is mapped read-only")};
}

Result<void> check_size(const char* what, std::size_t bytes, std::size_t granularity) {
  if (bytes > 0 && bytes % granularity == 0) return {};
  return Error{Code::invalid_argument,
               concat(what, ": ", bytes, " bytes: not a positive multiple of ", granularity)};
}

Result<void> check_timed(bool timed, bool recorded) {
  if (!timed) return Error{Code::invalid_argument, "elapsed: an event that is not timed"};
  if (!recorded) return Error{Code::failed_precondition, "elapsed: an event was never recorded"};
  return {};
}

Error not_reached() {
  return Error{Code::unavailable, "elapsed: work before one of the events has not ended"};
}

Error not_ours(const char* what, const char* object) {
  return Error{Code::invalid_argument, concat(what, ": the ", object, " is not this device's")};
}

}  // namespace aqua::device
