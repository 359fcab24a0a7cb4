// SPDX-License-Identifier: Apache-2.0
#include "aqua/layout.hpp"

#include <string>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "layout/checked_blocks.hpp"
#include "layout/overlap.hpp"

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

Result<void> check_sizes(const LayoutSpec& spec) {
  if (spec.layers == 0) return bad("layers is zero");
  if (spec.planes_per_layer == 0) return bad("planes_per_layer is zero");
  if (spec.block_count == 0) return bad("block_count is zero");
  if (spec.block_stride == 0) return bad("block_stride is zero");
  if (spec.segments_per_block == 0) return bad("segments_per_block is zero");
  if (spec.segment_bytes == 0) return bad("segment_bytes is zero");
  if (spec.segments_per_block > 1 && spec.segment_stride == 0) return bad("segment_stride is zero");
  if (spec.block_stride > layout::kMaxExtent || spec.segment_stride > layout::kMaxExtent) {
    return bad(concat("block_stride ", spec.block_stride, " or segment_stride ",
                      spec.segment_stride, " overflows"));
  }
  const std::size_t planes = std::size_t{spec.layers} * spec.planes_per_layer;
  if (spec.planes.size() != planes) {
    return bad(concat("planes holds ", spec.planes.size(), " addresses, ", spec.layers,
                      " layers of ", spec.planes_per_layer, " need ", planes));
  }
  return {};
}

// Bytes from a plane's base to the end of its last block.
Result<std::size_t> plane_extent(const LayoutSpec& spec) {
  AQUA_ASSIGN(const std::size_t blocks,
              product("block_stride", spec.block_count - 1, spec.block_stride));
  AQUA_ASSIGN(const std::size_t segments,
              product("segment_stride", spec.segments_per_block - 1, spec.segment_stride));
  AQUA_ASSIGN(const std::size_t all_bytes,
              product("segment_bytes", spec.segments_per_block, spec.segment_bytes));
  AQUA_ASSIGN(const std::size_t all_planes, product("block bytes", spec.planes.size(), all_bytes));
  AQUA_TRY(product("bytes of the cache", spec.block_count, all_planes));
  return blocks + segments + spec.segment_bytes;
}

Result<LayoutSpec> dense(const PagedShape& shape, std::size_t elements_per_token) {
  AQUA_ASSIGN(const std::size_t elements,
              product("elements of a block", shape.tokens_per_block, elements_per_token));
  AQUA_ASSIGN(const std::size_t bytes, product("block bytes", elements, shape.element_bytes));
  if (bytes == 0) return bad("a block of this shape has no bytes");
  LayoutSpec spec;
  spec.layers = shape.layers;
  spec.block_count = shape.block_count;
  spec.block_stride = bytes;
  spec.segment_bytes = bytes;
  return spec;
}

}  // namespace

Result<Layout> Layout::make(LayoutSpec spec) {
  if (spec.segments_per_block == 1) spec.segment_stride = spec.segment_bytes;
  AQUA_TRY(check_sizes(spec));
  AQUA_ASSIGN(const std::size_t extent, plane_extent(spec));
  for (std::size_t p = 0; p < spec.planes.size(); ++p) {
    if (spec.planes[p] == nullptr) return bad(concat("plane ", p, " is null"));
    const auto base = reinterpret_cast<std::uintptr_t>(spec.planes[p]);
    if (base + extent < base) return bad(concat("plane ", p, " runs past the last address"));
  }
  if (auto overlap = layout::find_overlap(spec, extent)) {
    return bad(concat("planes ", overlap->first, " and ", overlap->second,
                      " have blocks that share bytes; block_stride is ", spec.block_stride,
                      ", segment_stride ", spec.segment_stride, ", segment_bytes ",
                      spec.segment_bytes));
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
  AQUA_ASSIGN(LayoutSpec spec, dense(shape, std::size_t{kv_heads} * head_dim));
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
  AQUA_ASSIGN(LayoutSpec spec, dense(shape, latent_dim));
  spec.planes_per_layer = 1;
  spec.planes.assign(latent_planes.begin(), latent_planes.end());
  return make(std::move(spec));
}

Result<void> Layout::check(BlockList blocks) const {
  AQUA_TRY(layout::CheckedBlocks::make(*this, blocks));
  return {};
}

}  // namespace aqua
