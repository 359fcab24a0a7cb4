// SPDX-License-Identifier: Apache-2.0
#include "layout/range_copy.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "layout/block_pieces.hpp"
#include "layout/joint_steps.hpp"

namespace aqua::layout {
namespace {

Error bad_range(const std::string& what) {
  return Error{Code::invalid_argument, concat("range: ", what)};
}

Result<IndexRange> take(const char* name, std::size_t all, const IndexRange& range) {
  const bool whole = range.first == 0 && (range.count == kToTheEnd || range.count == all);
  if (all == 0 && whole) return IndexRange{0, 0};  // of no blocks
  const std::size_t left = range.first < all ? all - range.first : 0;
  if (left == 0 || range.count == 0 || (range.count != kToTheEnd && range.count > left)) {
    const std::string count =
        range.count == kToTheEnd ? std::string("all") : std::to_string(range.count);
    return bad_range(concat(count, ' ', name, " from ", range.first, " on, of ", all));
  }
  if (left >= kToTheEnd && range.count == kToTheEnd)
    return bad_range(concat(left, ' ', name, " are too many"));
  return IndexRange{range.first,
                    range.count == kToTheEnd ? static_cast<std::uint32_t>(left) : range.count};
}

// One end with its range resolved.
struct End {
  std::vector<std::byte*> planes{};       // at the first head of the range
  const std::uint32_t* blocks = nullptr;  // null: 0, 1, 2, ...
  std::size_t block_stride = 0;
  std::uint32_t tokens_per_block = 1;
  std::uint32_t first = 0;  // token
  std::size_t token_stride = 0, head_stride = 0;
  BlockAxis runs{};
  std::size_t run_bytes = 0;

  // Whether the tokens lie in one block.
  [[nodiscard]] bool in_one_block(std::uint32_t tokens) const {
    return std::size_t{first % tokens_per_block} + tokens <= tokens_per_block;
  }
};

// What both ends have.
struct Moved {
  std::uint32_t planes_per_layer = 0;
  std::uint32_t layers = 0, tokens = 0, heads = 0;
  std::size_t head_bytes = 0;
  friend bool operator==(const Moved&, const Moved&) = default;
};
std::string words_of(const Moved& of) {
  return concat(of.tokens, " tokens of ", of.heads, " heads of ", of.head_bytes, " bytes in ",
                of.layers, " layers of ", of.planes_per_layer, " planes");
}

Moved moved_of(const Layout& layout, const KvRange& range) {
  return {layout.spec().planes_per_layer, range.layers.count, range.tokens.count, range.heads.count,
          layout.spec().axes.head_bytes()};
}

End end_of(const Layout& layout, BlockList blocks, const KvRange& range) {
  const LayoutSpec& spec = layout.spec();
  const BlockAxes& axes = spec.axes;
  const auto planes = std::span(spec.planes)
                          .subspan(std::size_t{range.layers.first} * spec.planes_per_layer,
                                   std::size_t{range.layers.count} * spec.planes_per_layer);
  End end{.planes = {planes.begin(), planes.end()},
          .blocks = blocks.data(),
          .block_stride = spec.block_stride,
          .tokens_per_block = axes.tokens.count,
          .first = range.tokens.first,
          .token_stride = axes.tokens.stride,
          .head_stride = axes.heads.stride,
          .runs = axes.runs,
          .run_bytes = axes.run_bytes};
  for (std::byte*& plane : end.planes) plane += range.heads.first * axes.heads.stride;
  // Runs side by side are one.
  if (end.runs.stride == end.run_bytes || end.runs.count == 1)
    end.run_bytes *= std::exchange(end.runs.count, 1);
  return end;
}

// Planes side by side, each with blocks of these axes without gaps.
End packed_end(std::byte* packed, const Moved& moved, const BlockAxes& axes) {
  const std::size_t plane = std::size_t{moved.tokens} * moved.heads * moved.head_bytes;
  End end{.block_stride = axes.bytes(),
          .tokens_per_block = axes.tokens.count,
          .token_stride = axes.tokens.stride,
          .head_stride = axes.heads.stride,
          .runs = axes.runs,
          .run_bytes = axes.run_bytes};
  // By numbers: whoever only asks how the pieces fall has no packed form anywhere.
  for (std::size_t p = 0; p < std::size_t{moved.layers} * moved.planes_per_layer; ++p) {
    end.planes.push_back(
        reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(packed) + p * plane));
  }
  return end;
}

// The most tokens that lie in one block at both ends, wherever a unit begins.
std::uint32_t unit_of(std::uint32_t tokens, const End& dst, const End& src) {
  std::uint32_t unit = tokens;
  for (const End* end : {&dst, &src}) {
    if (!end->in_one_block(tokens))
      unit = std::gcd(unit, std::gcd(end->tokens_per_block, end->first));
  }
  return unit;
}

// Where the units of one end lie. A number is a block's where each unit begins at the same token of
// its block; else it counts a stride that goes into both, a block and a unit.
Result<BlockEnd> place(End end, std::uint32_t tokens, std::uint32_t unit) {
  BlockEnd placed{.planes = std::move(end.planes), .block_stride = end.block_stride};
  const std::size_t units = tokens / unit;
  const std::uint32_t begin = end.first % end.tokens_per_block;
  const std::size_t unit_bytes = unit * end.token_stride;
  const std::uint32_t offset = end.in_one_block(tokens) ? begin : 0;
  for (std::byte*& plane : placed.planes) plane += offset * end.token_stride;
  const bool by_block = units == 1 || unit == end.tokens_per_block;
  if (by_block && end.blocks == nullptr) return placed;
  if (!by_block) placed.block_stride = std::gcd(end.block_stride, unit_bytes);
  placed.ids.reserve(units);
  for (std::size_t i = 0; i < units; ++i) {
    const std::size_t token = end.first + i * unit;
    const std::size_t listed = token / end.tokens_per_block;
    const std::size_t block = end.blocks != nullptr ? end.blocks[listed] : listed;
    std::size_t id = block;
    if (!by_block) {
      const std::size_t within = token % end.tokens_per_block - offset;
      id = (block * end.block_stride + within * end.token_stride) / placed.block_stride;
      if (id > UINT32_MAX) {
        return bad_range(concat("parts of blocks at strides of ", placed.block_stride,
                                " bytes cannot be numbered in a plane as large"));
      }
    }
    placed.ids.push_back(static_cast<std::uint32_t>(id));
  }
  return placed;
}

// The runs of a head at both ends, one of which may have longer ones.
Result<void> add_runs(JointSteps& steps, std::size_t head_bytes, const End& dst, const End& src) {
  const std::size_t longer = std::max(dst.run_bytes, src.run_bytes);
  const std::size_t shorter = std::min(dst.run_bytes, src.run_bytes);
  if (longer % shorter != 0)
    return bad_range(
        concat("runs of ", src.run_bytes, " bytes do not go to runs of ", dst.run_bytes));
  const auto long_stride = [&](const End& end) {
    return end.run_bytes == longer ? end.runs.stride : longer / shorter * end.runs.stride;
  };
  const auto short_stride = [&](const End& end) {
    return end.run_bytes == shorter ? end.runs.stride : shorter;
  };
  steps.add({head_bytes / longer, long_stride(dst), long_stride(src)});
  if (longer != shorter) steps.add({longer / shorter, short_stride(dst), short_stride(src)});
  return {};
}

// `line`: the side that may become one, since its pieces follow one another.
Result<BlockCopy> copy_between(const Moved& moved, const End& dst, const End& src,
                               const PackedSide* line) {
  BlockCopy copy;
  if (moved.tokens == 0) return copy;
  const std::uint32_t unit = unit_of(moved.tokens, dst, src);
  copy.blocks = moved.tokens / unit;
  JointSteps steps(std::min(dst.run_bytes, src.run_bytes));
  steps.add({unit, dst.token_stride, src.token_stride});
  steps.add({moved.heads, dst.head_stride, src.head_stride});
  AQUA_TRY(add_runs(steps, moved.head_bytes, dst, src));
  AQUA_ASSIGN(copy.dst, place(dst, moved.tokens, unit));
  AQUA_ASSIGN(copy.src, place(src, moved.tokens, unit));
  steps.merge();
  const bool by_dst = line == nullptr || *line == PackedSide::dst;
  steps.sort(by_dst ? &JointStep::dst : &JointStep::src);
  const bool in_line = line != nullptr && !steps.too_many();
  steps.give_to(copy);
  if (in_line) (by_dst ? copy.dst : copy.src) = BlockEnd{};
  return copy;
}

Result<BlockCopy> pack(const PagedEnd& cache, const KvRange& range, const BlockAxes& packed_axes,
                       PackedSide side, std::byte* packed) {
  const Moved moved = moved_of(cache.layout, range);
  const End paged = end_of(cache.layout, cache.blocks.list(), range);
  const End line = packed_end(packed, moved, packed_axes);
  return side == PackedSide::dst ? copy_between(moved, line, paged, &side)
                                 : copy_between(moved, paged, line, &side);
}

}  // namespace

Result<KvRange> resolve(const Layout& layout, std::size_t blocks, const KvRange& range) {
  const BlockAxes& axes = layout.spec().axes;
  KvRange exact;
  AQUA_ASSIGN(exact.layers, take("layers", layout.layers(), range.layers));
  AQUA_ASSIGN(exact.tokens, take("tokens", blocks * axes.tokens.count, range.tokens));
  AQUA_ASSIGN(exact.heads, take("heads", axes.heads.count, range.heads));
  return exact;
}

std::vector<KvRange> whole_blocks_apart(const Layout& layout, const KvRange& range) {
  const std::uint64_t per_block = layout.spec().axes.tokens.count;
  const std::uint64_t first = range.tokens.first;
  const std::uint64_t end = first + range.tokens.count;
  const std::uint64_t whole = (first + per_block - 1) / per_block * per_block;
  const std::uint64_t whole_end = end / per_block * per_block;
  if (whole_end < whole + 2 * per_block) return {range};
  std::vector<KvRange> parts;
  const auto add = [&](std::uint64_t begin, std::uint64_t past) {
    if (begin == past) return;
    KvRange part = range;
    part.tokens = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(past - begin)};
    parts.push_back(part);
  };
  add(first, whole);
  add(whole, whole_end);
  add(whole_end, end);
  return parts;
}

Result<BlockCopy> pack_blocks(const Layout& layout, const CheckedBlocks& blocks, PackedSide side,
                              std::byte* packed) {
  AQUA_ASSIGN(const KvRange all, resolve(layout, blocks.size(), {}));
  return pack({layout, blocks}, all, without_gaps(layout.spec().axes), side, packed);
}

Result<BlockCopy> pack_range(const PagedEnd& cache, PackedSide side, std::byte* packed) {
  AQUA_ASSIGN(const KvRange range, resolve(cache.layout, cache.blocks.size(), cache.range));
  // One block of all tokens.
  const BlockAxes axes = BlockAxes::tokens_first(
      std::max(range.tokens.count, 1U), range.heads.count, cache.layout.spec().axes.head_bytes());
  return pack(cache, range, axes, side, packed);
}

Result<BlockCopy> pair(const PagedEnd& dst, const PagedEnd& src) {
  AQUA_ASSIGN(const KvRange to, resolve(dst.layout, dst.blocks.size(), dst.range));
  AQUA_ASSIGN(const KvRange from, resolve(src.layout, src.blocks.size(), src.range));
  const Moved moved = moved_of(dst.layout, to);
  const Moved given = moved_of(src.layout, from);
  if (given != moved) return bad_range(concat(words_of(given), " do not go to ", words_of(moved)));
  return copy_between(moved, end_of(dst.layout, dst.blocks.list(), to),
                      end_of(src.layout, src.blocks.list(), from), nullptr);
}

}  // namespace aqua::layout
