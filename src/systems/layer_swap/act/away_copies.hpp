// SPDX-License-Identifier: Apache-2.0
// AwayCopies keeps the blocks of streamed layers off the device: a tensor for each layer and each
// growth of the pool, so that growing copies nothing. A *chunk* is the range of blocks that one
// growth added; chunks are the same in every layer.
//
// Threads: one at a time. Owns: the tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aqua/layout.hpp"
#include "aqua/runtime.hpp"
#include "aqua/tensor.hpp"
#include "aqua/ticket.hpp"

namespace aqua::layer_swap {

// A block list by chunks. In the tensor of its chunk a block has the page `pages` says, and in the
// list it was at `places`.
struct ChunkBlocks {
  std::size_t chunk = 0;
  std::vector<std::uint32_t> blocks, pages, places;
};
using SplitBlocks = std::vector<ChunkBlocks>;

// Tickets of copies that a step and a frame wait for alike.
using Tickets = std::vector<std::shared_ptr<Ticket>>;

class AwayCopies {
 public:
  // `block_bytes`: of one block in one plane.
  AwayCopies(Runtime runtime, std::uint32_t layers, std::uint32_t planes_per_layer,
             std::size_t block_bytes, std::string name);

  // Makes room for `blocks` blocks of the layers in `away`; keeps what is there. After an error,
  // trim() undoes it.
  [[nodiscard]] Result<void> extend(const std::vector<bool>& away, std::uint32_t blocks);
  // Frees the tensors of layers that are not in `away`, and chunks past `blocks`.
  void trim(const std::vector<bool>& away, std::uint32_t blocks);

  // Frees the tensors of layers that are not in `away` whose memory has died: room that was taken
  // beforehand and holds nothing. extend() takes it anew.
  void drop_lost(const std::vector<bool>& away);

  [[nodiscard]] SplitBlocks split(BlockList blocks) const;
  // Posts the copies of a layer's blocks, of which `layout` describes the device's side, and adds
  // their tickets.
  [[nodiscard]] Result<void> offload(std::uint32_t layer, const Layout& layout,
                                     const SplitBlocks& blocks, Stream stream, Tickets& tickets);
  [[nodiscard]] Result<void> fetch(std::uint32_t layer, const Layout& layout,
                                   const SplitBlocks& blocks, Stream stream, Tickets& tickets);

  // The same between what is away and `count` blocks side by side in each plane, as a packed form
  // has a layer: in a tensor from `offset` on, or at an address that is pinned.
  [[nodiscard]] Result<void> copy_to(std::uint32_t layer, const SplitBlocks& blocks,
                                     AquaTensor& tensor, std::uint32_t count, std::size_t offset,
                                     Stream stream, std::vector<Ticket>& tickets);
  [[nodiscard]] Result<void> copy_from(std::uint32_t layer, const SplitBlocks& blocks,
                                       std::byte* source, std::uint32_t count, Stream stream,
                                       std::vector<Ticket>& tickets);

  // Whether the memory of a layer's blocks has died.
  [[nodiscard]] bool lost(std::uint32_t layer) const;
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::size_t peer_bytes() const;  // of these

 private:
  [[nodiscard]] std::uint32_t begin_of(std::size_t chunk) const {
    return chunk == 0 ? 0 : ends_[chunk - 1];
  }
  [[nodiscard]] std::uint32_t pages_in(std::size_t chunk) const {
    return ends_[chunk] - begin_of(chunk);
  }
  [[nodiscard]] TensorPages pages_of(const ChunkBlocks& blocks) const {
    return {pages_in(blocks.chunk), blocks.pages, 0};
  }
  // Planes one after another.
  [[nodiscard]] Result<Layout> layout_at(std::byte* base, std::uint32_t count) const;

  Runtime runtime_;             // a view of the caller's
  const std::uint32_t planes_;  // of a layer
  const std::size_t block_bytes_;
  const std::string name_;
  std::vector<std::uint32_t> ends_;               // of the chunks
  std::vector<std::vector<AquaTensor>> tensors_;  // by layer and chunk; none of a layer that stays
};

}  // namespace aqua::layer_swap
