// SPDX-License-Identifier: Apache-2.0
// What stands behind LayerPool. resize.cpp changes its frames, adapt.cpp chooses how many there
// are, sequences.cpp copies its blocks; its steps are a class of their own.
//
// Two streams carry the copies, one each way. A move out comes after the kernels of its layer; a
// move in after the kernels and the moves out of the layers that had its frame; the engine's stream
// waits for the moves in of a layer. A layer's tensor orders its own copies.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aqua/layer_swap/layer_pool.hpp"
#include "aqua/runtime.hpp"
#include "aqua/side_stream.hpp"
#include "systems/layer_swap/act/away_copies.hpp"
#include "systems/layer_swap/act/frame_memory.hpp"
#include "systems/layer_swap/act/steps.hpp"
#include "systems/layer_swap/decide/expansion.hpp"

namespace aqua {

class LayerPool::Impl {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Impl>> create(Runtime& runtime,
                                                            const LayerPoolOptions& options);

  [[nodiscard]] std::span<std::byte* const> planes(std::uint32_t layer) const {
    return memory_.planes(layer);
  }
  [[nodiscard]] std::uint32_t usable_blocks() const noexcept { return memory_.blocks(); }
  [[nodiscard]] std::uint32_t usable_blocks(std::uint32_t frames) const noexcept {
    return memory_.usable_blocks(frames);
  }
  [[nodiscard]] layer_swap::Steps& steps() noexcept { return steps_; }
  [[nodiscard]] Result<Ticket> offload(BlockList blocks, AquaTensor& tensor, Stream stream,
                                       std::size_t offset);
  [[nodiscard]] Result<Ticket> fetch(AquaTensor& tensor, BlockList blocks, Stream stream,
                                     std::size_t offset);
  [[nodiscard]] std::size_t packed_bytes(std::size_t blocks) const noexcept {
    return blocks * options_.layers * layer_block_bytes();
  }
  [[nodiscard]] Result<void> resize(std::uint32_t frames);
  [[nodiscard]] Result<bool> resize(std::uint32_t frames, layer_swap::BlockPool& blocks,
                                    Stream stream);
  [[nodiscard]] std::uint32_t propose();
  [[nodiscard]] Result<bool> adapt(layer_swap::BlockPool& blocks, Stream stream);
  [[nodiscard]] Result<void> discard();
  [[nodiscard]] LayerPoolStatus status() const;

 private:
  // A change to fewer blocks, from when an engine's list hears of it until the frames are there.
  // Whatever it takes was taken before, so that it can be completed.
  struct Change {
    std::uint32_t frames = 0;                    // that there are to be
    std::uint32_t blocks = 0;                    // that these hold
    std::optional<AquaTensor> room{};            // for blocks on their way to another place
    std::vector<layer_swap::BlockMove> moves{};  // blocks that are still to be copied
  };

  Impl(Runtime runtime, const LayerPoolOptions& options, layer_swap::FrameMemory memory,
       SideStream others, SideStream in, SideStream out);

  [[nodiscard]] std::size_t layer_block_bytes() const {
    return options_.planes_per_layer * options_.block_bytes;
  }
  // 0, 1, and so on.
  [[nodiscard]] static std::vector<std::uint32_t> first_blocks(std::uint32_t count);
  // data_loss where bytes that are away are gone.
  [[nodiscard]] Result<void> check_away();
  [[nodiscard]] Result<void> check_transfer(const char* call, BlockList blocks,
                                            const AquaTensor& tensor, std::size_t offset);
  template <typename Post>
  [[nodiscard]] Result<Ticket> post_layers(Stream stream, const Post& post);

  [[nodiscard]] Result<void> change_frames(std::uint32_t frames);
  [[nodiscard]] Result<void> send_away(const layer_swap::FrameMemory::Shape& next,
                                       std::uint32_t kept);
  [[nodiscard]] Result<void> bring_home(const std::vector<bool>& were_away, std::uint32_t kept);
  [[nodiscard]] Result<void> settle();
  void take(layer_swap::FrameMemory::Shape shape);

  [[nodiscard]] Result<void> make_expansion();
  [[nodiscard]] std::pair<Tier, double> measure_link(bool host_only);
  void follow_link();
  [[nodiscard]] Result<void> take_back(std::size_t slabs);
  [[nodiscard]] Result<bool> follow_frames(std::uint32_t frames, layer_swap::BlockPool& blocks,
                                           Stream stream);
  [[nodiscard]] Result<void> check_list(const layer_swap::BlockPool& blocks) const;
  [[nodiscard]] Result<void> begin_change(std::uint32_t frames, layer_swap::BlockPool& blocks);
  [[nodiscard]] Result<AquaTensor> make_room(std::size_t bytes);
  [[nodiscard]] Result<bool> vacate(layer_swap::BlockPool& blocks, Stream stream);
  [[nodiscard]] Result<void> copy_blocks(Change& change);
  void tell(const LayerPoolResize& news) const {
    if (options_.on_resize) options_.on_resize(news);
  }

  Runtime runtime_;  // a view of the caller's, which may move his
  const LayerPoolOptions options_;
  layer_swap::FrameMemory memory_;
  layer_swap::AwayCopies away_;

  layer_swap::Steps steps_;
  std::optional<layer_swap::Expansion> expansion_;  // of a pool with a goal
  layer_swap::StepMeasure measured_{};              // times of all steps so far
  // The seconds that a block of one layer takes to come in from lent and from host memory, as
  // measured at first; 0: not known. And what was away when propose() last looked.
  double peer_seconds_ = 0, host_seconds_ = 0;
  std::size_t away_bytes_ = 0, away_peer_bytes_ = 0;
  std::uint64_t resizes_ = 0;
  std::optional<Reclaim> reclaim_;  // of slabs that more frames need
  std::optional<Change> change_;    // that is under way

  SideStream others_;    // carries nothing: its end is that of what sequences were copied behind
  SideStream in_, out_;  // last: they wait for their copies before anything goes
};

}  // namespace aqua
