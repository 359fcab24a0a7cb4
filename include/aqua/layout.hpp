// SPDX-License-Identifier: Apache-2.0
// Layout describes an engine's paged KV cache once, so that a list of block numbers is
// enough to move those blocks, in every layer, with one call.
//
// A cache is a set of planes, each holding `block_count` blocks at a fixed stride:
// one plane of keys and one of values per layer (MHA, GQA), one plane with both, or one
// plane of latents (MLA). A block is one run of bytes in its plane or, where heads are
// outermost, several runs at a second stride.
//
//   address(layer, plane, block, segment) =
//       planes[layer * planes_per_layer + plane] + block * block_stride + segment * segment_stride
//
// Threads: a Layout never changes; share it freely.
// Owns:    nothing. The cache stays the engine's, in place for as long as work is queued.
// Units:   bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "aqua/export.h"
#include "aqua/result.hpp"

namespace aqua {

struct LayoutSpec {
  unsigned layers = 0;
  unsigned planes_per_layer = 0;
  std::vector<std::byte*> planes{};  // layers * planes_per_layer base addresses, layer by layer
  std::uint32_t block_count = 0;     // blocks in each plane, numbered from 0
  std::size_t block_stride = 0;      // from a block to the next
  unsigned segments_per_block = 1;   // runs of bytes that make up one block in one plane
  std::size_t segment_bytes = 0;
  std::size_t segment_stride = 0;  // from a run to the next of the same block; unused for one run
};

// The usual shape: a block holds `tokens_per_block` tokens of one layer, densely.
struct PagedShape {
  unsigned layers = 0;
  std::uint32_t block_count = 0;
  unsigned tokens_per_block = 0;
  unsigned element_bytes = 0;
};

// Which blocks, in which order. No number may appear twice: two copies of one block could
// go out, but could not come back.
using BlockList = std::span<const std::uint32_t>;

class AQUA_API Layout {
 public:
  // invalid_argument, naming the field, when a size is zero or overflows, a plane is null,
  // or two blocks would share a byte (in one plane or between planes).
  [[nodiscard]] static Result<Layout> make(LayoutSpec spec);

  // Keys and values in planes of their own, one of each per layer, blocks densely packed:
  // [block][token][kv_head][head_dim] or [block][kv_head][token][head_dim]. kv_heads counts
  // the heads that are stored, so this serves MHA, GQA and MQA.
  [[nodiscard]] static Result<Layout> mha(const PagedShape& shape, unsigned kv_heads,
                                          unsigned head_dim, std::span<std::byte* const> key_planes,
                                          std::span<std::byte* const> value_planes);
  // One plane of latents per layer; latent_dim includes the rope part.
  [[nodiscard]] static Result<Layout> mla(const PagedShape& shape, unsigned latent_dim,
                                          std::span<std::byte* const> latent_planes);

  [[nodiscard]] const LayoutSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] unsigned layers() const noexcept { return spec_.layers; }
  // Bytes of one block in one plane.
  [[nodiscard]] std::size_t plane_block_bytes() const noexcept {
    return spec_.segments_per_block * spec_.segment_bytes;
  }
  // Bytes of one block in all layers and planes: what it takes of a tensor.
  [[nodiscard]] std::size_t block_bytes() const noexcept {
    return spec_.planes.size() * plane_block_bytes();
  }

  // --- the packed form ----------------------------------------------------------------
  // How n listed blocks lie in a tensor, and part of the contract: layer by layer, then
  // plane by plane, then in list order, without gaps. A layer is one contiguous piece, so
  // layer 0 can arrive first; to read blocks back, pass a list of the same length.
  [[nodiscard]] std::size_t packed_bytes(std::size_t n) const noexcept { return n * block_bytes(); }
  [[nodiscard]] std::size_t packed_offset(unsigned layer, unsigned plane, std::size_t i,
                                          std::size_t n) const noexcept {
    const std::size_t flat = std::size_t{layer} * spec_.planes_per_layer + plane;
    return (flat * n + i) * plane_block_bytes();
  }

  // invalid_argument when a number is not below block_count or appears twice. An empty
  // list is valid and moves nothing.
  [[nodiscard]] Result<void> check(BlockList blocks) const;

 private:
  explicit Layout(LayoutSpec spec) : spec_(std::move(spec)) {}
  LayoutSpec spec_;
};

}  // namespace aqua
