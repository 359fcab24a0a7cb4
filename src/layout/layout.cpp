// SPDX-License-Identifier: Apache-2.0
#include "aqua/layout.hpp"

#include <string>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "layout/block_pieces.hpp"
#include "layout/checked_blocks.hpp"
#include "layout/overlap.hpp"
#include "layout/range_copy.hpp"

namespace aqua {
namespace {

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("layout: ", what)};
}

// `a * b`, refused above kMaxExtent: no cache is that large, and below it every sum and
// product of offsets that follows fits a signed 64-bit number.
Result<std::size_t> product(const char* what, std::size_t a, std::size_t b) {
  if (a != 0 && b > layout::kMaxExtent / a) {
    return bad(concat(what, " overflows: ", a, " times ", b));
  }
  return a * b;
}

// A stride counts where there is more than one.
Result<void> check_axis(const char* name, BlockAxis& axis) {
  if (axis.count == 0) return bad(concat("axes.", name, ".count is zero"));
  if (axis.count == 1) axis.stride = 0;
  if (axis.count > 1 && axis.stride == 0) return bad(concat("axes.", name, ".stride is zero"));
  // Layouts are made with each transfer to pages: the words are put together for an error alone.
  const auto extent = product(name, axis.count - 1, axis.stride);
  if (extent.ok()) return {};
  return product(concat("axes.", name, ".stride").c_str(), axis.count - 1, axis.stride).error();
}

Result<void> check_sizes(LayoutSpec& spec) {
  if (spec.layers == 0) return bad("layers is zero");
  if (spec.planes_per_layer == 0) return bad("planes_per_layer is zero");
  if (spec.block_count == 0) return bad("block_count is zero");
  if (spec.block_stride == 0) return bad("block_stride is zero");
  if (spec.axes.run_bytes == 0) return bad("axes.run_bytes is zero");
  AQUA_TRY(check_axis("tokens", spec.axes.tokens));
  AQUA_TRY(check_axis("heads", spec.axes.heads));
  AQUA_TRY(check_axis("runs", spec.axes.runs));
  if (spec.block_stride > layout::kMaxExtent)
    return bad(concat("block_stride ", spec.block_stride, " overflows"));
  const std::size_t planes = std::size_t{spec.layers} * spec.planes_per_layer;
  if (spec.planes.size() != planes) {
    return bad(concat("planes holds ", spec.planes.size(), " addresses, ", spec.layers,
                      " layers of ", spec.planes_per_layer, " need ", planes));
  }
  return {};
}

// Refuses a cache that is larger than any may be, so that no offset or sum of bytes overflows
// later.
Result<void> check_extent(const LayoutSpec& spec) {
  const BlockAxes& axes = spec.axes;
  AQUA_TRY(product("block_stride", spec.block_count - 1, spec.block_stride));
  AQUA_ASSIGN(const std::size_t head, product("axes.run_bytes", axes.runs.count, axes.run_bytes));
  AQUA_ASSIGN(const std::size_t token, product("bytes of a token", axes.heads.count, head));
  AQUA_ASSIGN(const std::size_t block, product("block bytes", axes.tokens.count, token));
  AQUA_ASSIGN(const std::size_t all_planes, product("block bytes", spec.planes.size(), block));
  AQUA_TRY(product("bytes of the cache", spec.block_count, all_planes));
  return {};
}

std::string words_of(const BlockAxes& axes) {
  return concat(axes.tokens.count, " tokens at ", axes.tokens.stride, ", ", axes.heads.count,
                " heads at ", axes.heads.stride, ", ", axes.runs.count, " runs at ",
                axes.runs.stride, " of ", axes.run_bytes, " bytes");
}

Result<LayoutSpec> dense(const PagedShape& shape, unsigned heads, unsigned head_elements) {
  AQUA_ASSIGN(const std::size_t head, product("head bytes", head_elements, shape.element_bytes));
  AQUA_ASSIGN(const std::size_t token, product("bytes of a token", heads, head));
  AQUA_ASSIGN(const std::size_t bytes, product("block bytes", shape.tokens_per_block, token));
  if (bytes == 0) return bad("a block of this shape has no bytes");
  LayoutSpec spec;
  spec.layers = shape.layers;
  spec.block_count = shape.block_count;
  spec.block_stride = bytes;
  spec.axes = shape.order == BlockOrder::heads_first
                  ? BlockAxes::heads_first(shape.tokens_per_block, heads, head)
                  : BlockAxes::tokens_first(shape.tokens_per_block, heads, head);
  return spec;
}

}  // namespace

Result<Layout> Layout::make(LayoutSpec spec) {
  AQUA_TRY(check_sizes(spec));
  AQUA_TRY(check_extent(spec));
  const std::size_t extent = layout::plane_extent(spec);
  for (std::size_t p = 0; p < spec.planes.size(); ++p) {
    if (spec.planes[p] == nullptr) return bad(concat("plane ", p, " is null"));
    const auto base = reinterpret_cast<std::uintptr_t>(spec.planes[p]);
    if (base + extent < base) return bad(concat("plane ", p, " runs past the last address"));
  }
  AQUA_ASSIGN(const auto overlap, layout::find_overlap(spec, extent));
  if (overlap) {
    return bad(concat("planes ", overlap->first, " and ", overlap->second,
                      " have blocks that share bytes; block_stride is ", spec.block_stride,
                      ", a block is ", words_of(spec.axes)));
  }
  return Layout(std::move(spec));
}

Result<Layout> Layout::mha(const PagedShape& shape, unsigned kv_heads, unsigned head_dim,
                           std::span<std::byte* const> key_planes,
                           std::span<std::byte* const> value_planes) {
  if (key_planes.size() != shape.layers || value_planes.size() != shape.layers) {
    return bad(concat(key_planes.size(), " key and ", value_planes.size(), " value planes for ",
                      shape.layers, " layers"));
  }
  AQUA_ASSIGN(LayoutSpec spec, dense(shape, kv_heads, head_dim));
  spec.planes_per_layer = 2;
  spec.planes.reserve(2 * key_planes.size());
  for (std::size_t layer = 0; layer < key_planes.size(); ++layer) {
    spec.planes.push_back(key_planes[layer]);
    spec.planes.push_back(value_planes[layer]);
  }
  return make(std::move(spec));
}

Result<Layout> Layout::mla(const PagedShape& shape, unsigned latent_dim,
                           std::span<std::byte* const> latent_planes) {
  if (latent_planes.size() != shape.layers) {
    return bad(concat(latent_planes.size(), " latent planes for ", shape.layers, " layers"));
  }
  AQUA_ASSIGN(LayoutSpec spec, dense(shape, 1, latent_dim));
  spec.planes_per_layer = 1;
  spec.planes.assign(latent_planes.begin(), latent_planes.end());
  return make(std::move(spec));
}

Result<std::size_t> Layout::packed_bytes(std::size_t n, const KvRange& range) const {
  AQUA_ASSIGN(const KvRange exact, layout::resolve(*this, n, range));
  return std::size_t{exact.layers.count} * spec_.planes_per_layer * exact.tokens.count *
         exact.heads.count * spec_.axes.head_bytes();
}

Result<void> Layout::check(BlockList blocks) const {
  AQUA_TRY(layout::CheckedBlocks::make(*this, blocks));
  return {};
}

}  // namespace aqua
