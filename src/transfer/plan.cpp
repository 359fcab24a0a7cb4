// SPDX-License-Identifier: Apache-2.0
#include "transfer/plan.hpp"

#include <algorithm>
#include <cassert>

namespace aqua::transfer {
namespace {

using device::CopySegment;

// Writes one piece under the limit. Returns the place after its last copy.
CopySegment* write(CopySegment* out, CopySegment piece, std::size_t max_copy_bytes) {
  while (piece.bytes > max_copy_bytes) {
    *out++ = {piece.dst, piece.src, max_copy_bytes};
    piece.dst += max_copy_bytes;
    piece.src += max_copy_bytes;
    piece.bytes -= max_copy_bytes;
  }
  *out = piece;
  return out + 1;
}

// The bytes [begin, end) of one plane's packed form. Byte `begin` lies at `packed`.
struct PlaneSlice {
  std::byte* cache;
  std::byte* packed;
  std::size_t begin;
  std::size_t end;
};

// The part of the slice that begins at byte `at` of the packed form, up to the plane's end.
PlaneSlice plane_slice(const PackedSlice& slice, std::size_t at) {
  const std::size_t plane_bytes = slice.runs.plane_bytes();
  const std::size_t plane = at / plane_bytes;
  const std::size_t base = plane * plane_bytes;
  return {slice.layout.spec().planes[plane], slice.address + (at - slice.begin), at - base,
          std::min(plane_bytes, slice.end - base)};
}

// The hot loop of a transfer: once for each piece.
template <Direction direction>
CopySegment* write_plane(CopySegment* out, std::span<const layout::BlockRun> runs,
                         const PlaneSlice& slice, std::size_t max_copy_bytes) {
  const layout::BlockRun* const last = runs.data() + runs.size();
  for (const layout::BlockRun* run = runs.data(); run != last; ++run) {
    const std::size_t begin = std::max(run->packed, slice.begin);
    const std::size_t end = std::min(run[1].packed, slice.end);
    std::byte* const cache = slice.cache + run->cache + (begin - run->packed);
    std::byte* const packed = slice.packed + (begin - slice.begin);
    constexpr bool kOffload = direction == Direction::offload;
    out = write(out, {kOffload ? packed : cache, kOffload ? cache : packed, end - begin},
                max_copy_bytes);
  }
  return out;
}

}  // namespace

void plan(const PackedSlice& slice, Direction direction, std::size_t max_copy_bytes,
          std::vector<CopySegment>& copies) {
  assert(max_copy_bytes != 0);
  if (!slice.runs.empty()) {
    const std::size_t mean_run = slice.runs.plane_bytes() / slice.runs.count();
    copies.reserve((slice.end - slice.begin) / mean_run + 2);
  }
  std::size_t used = 0;
  for (std::size_t at = slice.begin; at < slice.end;) {
    const PlaneSlice part = plane_slice(slice, at);
    const auto runs = slice.runs.between(part.begin, part.end);
    const std::size_t bytes = part.end - part.begin;
    const std::size_t most = used + runs.size() + bytes / max_copy_bytes;
    if (copies.size() < most) copies.resize(most);
    CopySegment* const out = copies.data() + used;
    const CopySegment* const end =
        direction == Direction::offload
            ? write_plane<Direction::offload>(out, runs, part, max_copy_bytes)
            : write_plane<Direction::fetch>(out, runs, part, max_copy_bytes);
    used += static_cast<std::size_t>(end - out);
    at += bytes;
  }
  copies.resize(used);
}

std::vector<CopySegment> plan_bulk(std::byte* dst, const std::byte* src, std::size_t bytes,
                                   std::size_t max_copy_bytes) {
  std::vector<CopySegment> copies(bytes / max_copy_bytes + 1);
  const CopySegment* const end = write(copies.data(), {dst, src, bytes}, max_copy_bytes);
  copies.resize(static_cast<std::size_t>(end - copies.data()));
  return copies;
}

}  // namespace aqua::transfer
