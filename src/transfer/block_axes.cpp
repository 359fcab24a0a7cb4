// SPDX-License-Identifier: Apache-2.0
#include "transfer/block_axes.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::transfer {
namespace {

using device::BlockCopy;
using device::BlockEnd;

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("blocks: ", what)};
}

// The runs of an axis that a range takes, and the stride between them.
struct Axis {
  std::uint32_t count = 1;
  std::size_t stride = 0;
};
// What an end takes of each block: runs of `bytes`, from `offset` on.
struct Taken {
  Axis tokens, heads;
  std::size_t bytes = 0;
  std::size_t offset = 0;
};

Result<Axis> take(const char* name, std::uint32_t all, std::size_t stride, const AxisRange& range) {
  if (range.first >= all || range.count == 0) {
    return bad(concat(range.count, ' ', name, " from ", range.first, " on, of ", all));
  }
  return Axis{std::min(range.count, all - range.first), stride};
}

// Whether no run reaches into the gaps between the block's segments, where other blocks may lie.
// The runs lie in the block.
bool within_segments(const LayoutSpec& spec, const BlockAxes& axes) {
  if (spec.segment_stride == spec.segment_bytes) return true;
  for (std::size_t t = 0; t < axes.tokens; ++t) {
    for (std::size_t h = 0; h < axes.heads; ++h) {
      const std::size_t at = t * axes.token_stride + h * axes.head_stride;
      if (at % spec.segment_stride + axes.bytes > spec.segment_bytes) return false;
    }
  }
  return true;
}

// Every run lies in a segment of the block, and no two share a byte: the axis of the larger stride
// goes around the other one, and together they are as many bytes as the block.
Result<void> check_axes(const Layout& layout, const BlockAxes& axes) {
  const LayoutSpec& spec = layout.spec();
  const std::size_t block =
      (spec.segments_per_block - 1) * spec.segment_stride + spec.segment_bytes;
  Axis inner{axes.heads, axes.heads > 1 ? axes.head_stride : axes.bytes};
  Axis outer{axes.tokens, axes.tokens > 1 ? axes.token_stride : block};
  if (axes.tokens > 1 && inner.stride > outer.stride) std::swap(inner, outer);
  // Divisions, since products may overflow.
  const bool fits = axes.bytes != 0 && inner.count != 0 && outer.count != 0 &&
                    inner.stride >= axes.bytes && inner.stride <= block && outer.stride <= block &&
                    inner.count - 1 <= (outer.stride - axes.bytes) / inner.stride &&
                    outer.count - 1 <= block / outer.stride;
  if (fits) {
    const std::size_t inner_bytes = (inner.count - 1) * inner.stride + axes.bytes;
    const std::size_t all = std::size_t{inner.count} * outer.count * axes.bytes;
    if ((outer.count - 1) * outer.stride + inner_bytes <= block &&
        all == layout.plane_block_bytes() && within_segments(spec, axes)) {
      return {};
    }
  }
  return bad(concat(axes.tokens, " tokens of ", axes.heads, " heads of ", axes.bytes,
                    " bytes, strides ", axes.token_stride, " and ", axes.head_stride,
                    ", are not a block of ", layout.plane_block_bytes(), " bytes"));
}

Result<Taken> taken_of(const PagedEnd& end) {
  const auto& [axes, tokens, heads] = end.part;
  AQUA_TRY(check_axes(end.layout, axes));
  Taken taken;
  AQUA_ASSIGN(taken.tokens, take("tokens", axes.tokens, axes.token_stride, tokens));
  AQUA_ASSIGN(taken.heads, take("heads", axes.heads, axes.head_stride, heads));
  taken.bytes = axes.bytes;
  taken.offset = tokens.first * axes.token_stride + heads.first * axes.head_stride;
  return taken;
}

// The cache's end, with tokens or heads as the outer axis.
BlockEnd end_of(const PagedEnd& end, const Taken& taken, bool tokens_outer) {
  BlockEnd made;
  made.planes = end.layout.spec().planes;
  for (std::byte*& plane : made.planes) plane += taken.offset;
  made.ids.assign(end.blocks.list().begin(), end.blocks.list().end());
  made.block_stride = end.layout.spec().block_stride;
  made.outer_stride = tokens_outer ? taken.tokens.stride : taken.heads.stride;
  made.inner_stride = tokens_outer ? taken.heads.stride : taken.tokens.stride;
  return made;
}

// Makes one piece of what lies side by side at both ends; `other` is null for the packed form,
// where all does.
void merge(BlockCopy& copy, const BlockEnd& cache, const BlockEnd* other) {
  const auto dense = [&](std::size_t BlockEnd::*stride) {
    return cache.*stride == copy.piece_bytes &&
           (other == nullptr || other->*stride == copy.piece_bytes);
  };
  if (copy.inner == 1 || dense(&BlockEnd::inner_stride)) {
    copy.piece_bytes *= std::exchange(copy.inner, 1);
    if (copy.outer == 1 || dense(&BlockEnd::outer_stride))
      copy.piece_bytes *= std::exchange(copy.outer, 1);
  }
}

// The axis whose runs are further apart goes around the other one.
bool tokens_outer(const Taken& taken) {
  if (taken.heads.count == 1 || taken.tokens.count == 1) return taken.heads.count == 1;
  return taken.tokens.stride >= taken.heads.stride;
}

BlockCopy shape_of(const PagedEnd& end, const Taken& taken, bool by_tokens) {
  BlockCopy copy;
  copy.blocks = static_cast<std::uint32_t>(end.blocks.size());
  copy.outer = by_tokens ? taken.tokens.count : taken.heads.count;
  copy.inner = by_tokens ? taken.heads.count : taken.tokens.count;
  copy.piece_bytes = taken.bytes;
  return copy;
}

}  // namespace

BlockAxes BlockAxes::of(const Layout& layout) noexcept {
  const LayoutSpec& spec = layout.spec();
  return {1, spec.segments_per_block, 0, spec.segment_stride, spec.segment_bytes};
}

Result<BlockCopy> pack(const PagedEnd& cache, Direction direction) {
  AQUA_ASSIGN(const Taken taken, taken_of(cache));
  const bool by_tokens = tokens_outer(taken);
  BlockCopy copy = shape_of(cache, taken, by_tokens);
  BlockEnd end = end_of(cache, taken, by_tokens);
  merge(copy, end, nullptr);
  (direction == Direction::offload ? copy.src : copy.dst) = std::move(end);
  return copy;
}

Result<BlockCopy> pair(const PagedEnd& dst, const PagedEnd& src) {
  AQUA_ASSIGN(const Taken to, taken_of(dst));
  AQUA_ASSIGN(const Taken from, taken_of(src));
  const auto planes = [](const PagedEnd& end) { return end.layout.spec().planes.size(); };
  if (planes(dst) != planes(src) || dst.blocks.size() != src.blocks.size()) {
    return bad(concat(src.blocks.size(), " blocks in ", planes(src), " planes do not go to ",
                      dst.blocks.size(), " in ", planes(dst)));
  }
  if (to.tokens.count != from.tokens.count || to.heads.count != from.heads.count ||
      to.bytes != from.bytes) {
    return bad(concat(from.tokens.count, " tokens of ", from.heads.count, " heads of ", from.bytes,
                      " bytes do not go to ", to.tokens.count, " of ", to.heads.count, " of ",
                      to.bytes));
  }
  const bool by_tokens = tokens_outer(to);
  BlockCopy copy = shape_of(dst, to, by_tokens);
  copy.dst = end_of(dst, to, by_tokens);
  copy.src = end_of(src, from, by_tokens);
  merge(copy, copy.dst, &copy.src);
  return copy;
}

}  // namespace aqua::transfer
