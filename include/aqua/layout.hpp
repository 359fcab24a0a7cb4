// SPDX-License-Identifier: Apache-2.0
// Layout describes an engine's paged KV cache once, so that a list of block numbers is
// enough to move those blocks, in every layer, with one call.
//
// A cache is a set of planes, each holding `block_count` blocks at a fixed stride: one plane of
// keys and one of values per layer (MHA, GQA), one plane with both, or one plane of latents (MLA).
// A block has axes: tokens, heads, and the runs of bytes that one head of one token falls into.
//
//   address(layer, plane, block, token, head, run) =
//       planes[layer * planes_per_layer + plane] + block * block_stride
//           + token * tokens.stride + head * heads.stride + run * runs.stride
//
// The axes say where tokens and heads lie, so that a range of either moves alone (KvRange); whole
// blocks move without anybody asking. All planes of a layout have the same axes: where keys lie in
// another order than values (FasterTransformer), each of the two is a layout of its own, and
// Ticket::join() makes one ticket of their moves.
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
#include "aqua/kv_range.hpp"
#include "aqua/result.hpp"

namespace aqua {

struct BlockAxis {
  std::uint32_t count = 1;
  std::size_t stride = 0;  // from one to the next; unused for one
  friend bool operator==(const BlockAxis&, const BlockAxis&) = default;
};

// How a block lies in its plane: tokens * heads * runs pieces of run_bytes, at any strides.
struct BlockAxes {
  BlockAxis tokens{};
  BlockAxis heads{};  // that the plane stores: KV heads, or 1 for latents
  BlockAxis runs{};   // of one head of one token, in the order of its bytes
  std::size_t run_bytes = 0;

  // A block of whose inside nothing is told: one token of one head.
  [[nodiscard]] static constexpr BlockAxes whole(std::size_t bytes) noexcept {
    return {{}, {}, {}, bytes};
  }
  // Without gaps. [token][head]: vLLM's NHD, an MLA cache with one head.
  [[nodiscard]] static constexpr BlockAxes tokens_first(std::uint32_t tokens, std::uint32_t heads,
                                                        std::size_t head_bytes) noexcept {
    return {{tokens, heads * head_bytes}, {heads, head_bytes}, {}, head_bytes};
  }
  // [head][token]: vLLM's HND, FasterTransformer's values.
  [[nodiscard]] static constexpr BlockAxes heads_first(std::uint32_t tokens, std::uint32_t heads,
                                                       std::size_t head_bytes) noexcept {
    return {{tokens, head_bytes}, {heads, tokens * head_bytes}, {}, head_bytes};
  }
  // [head][run][token]: FasterTransformer's keys, in runs of 16 bytes.
  [[nodiscard]] static constexpr BlockAxes runs_first(std::uint32_t tokens, std::uint32_t heads,
                                                      std::uint32_t runs_per_head,
                                                      std::size_t run_bytes) noexcept {
    return {{tokens, run_bytes},
            {heads, tokens * run_bytes * runs_per_head},
            {runs_per_head, tokens * run_bytes},
            run_bytes};
  }

  // Bytes of one head of one token, and of all heads of all tokens.
  [[nodiscard]] constexpr std::size_t head_bytes() const noexcept { return runs.count * run_bytes; }
  [[nodiscard]] constexpr std::size_t bytes() const noexcept {
    return tokens.count * (heads.count * head_bytes());
  }
  friend bool operator==(const BlockAxes&, const BlockAxes&) = default;
};

struct LayoutSpec {
  unsigned layers = 0;
  unsigned planes_per_layer = 0;
  std::vector<std::byte*> planes{};  // layers * planes_per_layer base addresses, layer by layer
  std::uint32_t block_count = 0;     // blocks in each plane, numbered from 0
  std::size_t block_stride = 0;      // from a block to the next
  BlockAxes axes{};                  // of each block in each plane
};

enum class BlockOrder : std::uint8_t { tokens_first, heads_first };

// The usual shape: a block holds `tokens_per_block` tokens of one layer, densely.
struct PagedShape {
  unsigned layers = 0;
  std::uint32_t block_count = 0;
  unsigned tokens_per_block = 0;
  unsigned element_bytes = 0;
  BlockOrder order = BlockOrder::tokens_first;  // of mha(); latents have one head
};

// Which blocks, in which order. No number may appear twice: two copies of one block could
// go out, but could not come back.
using BlockList = std::span<const std::uint32_t>;

class AQUA_API Layout {
 public:
  // invalid_argument, naming the field, when a size is zero or overflows, a plane is null,
  // or two pieces would share a byte (in one block, in one plane or between planes), or when
  // strides that do not nest have too many pieces to tell whether they do.
  [[nodiscard]] static Result<Layout> make(LayoutSpec spec);

  // Keys and values in planes of their own, one of each per layer, blocks densely packed:
  // [block][token][kv_head][head_dim], or [block][kv_head][token][head_dim] where shape.order says
  // so. kv_heads counts the heads that are stored, so this serves MHA, GQA and MQA.
  [[nodiscard]] static Result<Layout> mha(const PagedShape& shape, unsigned kv_heads,
                                          unsigned head_dim, std::span<std::byte* const> key_planes,
                                          std::span<std::byte* const> value_planes);
  // One plane of latents per layer; latent_dim includes the rope part.
  [[nodiscard]] static Result<Layout> mla(const PagedShape& shape, unsigned latent_dim,
                                          std::span<std::byte* const> latent_planes);

  [[nodiscard]] const LayoutSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] unsigned layers() const noexcept { return spec_.layers; }
  // Bytes of one block in one plane.
  [[nodiscard]] std::size_t plane_block_bytes() const noexcept { return spec_.axes.bytes(); }
  // Bytes of one block in all layers and planes: what it takes of a tensor.
  [[nodiscard]] std::size_t block_bytes() const noexcept {
    return spec_.planes.size() * plane_block_bytes();
  }

  // --- the packed form ----------------------------------------------------------------
  // How n listed blocks lie in a tensor, and part of the contract: layer by layer, then
  // plane by plane, then in list order, without gaps. Within a block its axes keep their order, the
  // one of the largest stride outermost. A layer is one contiguous piece, so
  // layer 0 can arrive first; to read blocks back, pass a list of the same length.
  [[nodiscard]] std::size_t packed_bytes(std::size_t n) const noexcept { return n * block_bytes(); }
  [[nodiscard]] std::size_t packed_offset(unsigned layer, unsigned plane, std::size_t i,
                                          std::size_t n) const noexcept {
    const std::size_t flat = std::size_t{layer} * spec_.planes_per_layer + plane;
    return (flat * n + i) * plane_block_bytes();
  }

  // The packed form of a range (aqua/kv_range.hpp) of a sequence that has n blocks: layer by layer,
  // plane by plane, token by token, head by head, without gaps. It does not tell by which layout it
  // was written. invalid_argument for a range that n blocks do not have.
  [[nodiscard]] Result<std::size_t> packed_bytes(std::size_t n, const KvRange& range) const;

  // invalid_argument when a number is not below block_count or appears twice. An empty
  // list is valid and moves nothing.
  [[nodiscard]] Result<void> check(BlockList blocks) const;

 private:
  explicit Layout(LayoutSpec spec) : spec_(std::move(spec)) {}
  LayoutSpec spec_;
};

}  // namespace aqua
