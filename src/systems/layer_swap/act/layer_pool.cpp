// SPDX-License-Identifier: Apache-2.0
#include "aqua/layer_swap/layer_pool.hpp"

#include <algorithm>
#include <utility>

#include "base/try.hpp"
#include "systems/layer_swap/act/layer_pool_impl.hpp"

namespace aqua {

LayerPoolStatus LayerPool::Impl::status() const {
  const std::vector<bool>& streamed = memory_.streamed();
  const auto streamed_layers = std::count(streamed.begin(), streamed.end(), true);
  LayerPoolStatus status{.frames = memory_.frames(),
                         .usable_blocks = memory_.blocks(),
                         .streamed_layers = static_cast<std::uint32_t>(streamed_layers),
                         .away_bytes = away_.bytes(),
                         .away_peer_bytes = away_.peer_bytes(),
                         .resizes = resizes_,
                         .proposed_frames = expansion_ ? expansion_->frames() : 0,
                         .reason = std::string(expansion_ ? to_string(expansion_->reason()) : ""),
                         .compute_seconds = measured_.compute_seconds,
                         .stall_seconds = measured_.stall_seconds,
                         .fetch_seconds = measured_.fetch_seconds,
                         .write_seconds = measured_.write_seconds};
  steps_.describe(status);
  return status;
}

LayerPool::LayerPool(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
LayerPool::LayerPool(LayerPool&&) noexcept = default;
LayerPool& LayerPool::operator=(LayerPool&&) noexcept = default;
LayerPool::~LayerPool() = default;

Result<LayerPool> LayerPool::create(Runtime& runtime, const LayerPoolOptions& options) {
  AQUA_ASSIGN(auto impl, Impl::create(runtime, options));
  return LayerPool(std::move(impl));
}
std::span<std::byte* const> LayerPool::planes(std::uint32_t layer) const {
  return impl_->planes(layer);
}
std::uint32_t LayerPool::usable_blocks() const noexcept {
  return impl_->usable_blocks();
}
std::uint32_t LayerPool::usable_blocks(std::uint32_t frames) const noexcept {
  return impl_->usable_blocks(frames);
}
Result<void> LayerPool::begin_step(Stream stream, BlockList reads, BlockList writes) {
  return impl_->steps().begin(stream, reads, writes);
}
Result<std::span<std::byte* const>> LayerPool::begin_layer(std::uint32_t layer) {
  return impl_->steps().begin_layer(layer);
}
Result<void> LayerPool::end_layer(std::uint32_t layer) {
  return impl_->steps().end_layer(layer);
}
Result<std::uint64_t> LayerPool::end_step(const StepLoad& load) {
  return impl_->steps().end(load);
}
Result<bool> LayerPool::step_done(std::uint64_t step) {
  return impl_->steps().done(step);
}
Result<Ticket> LayerPool::offload(BlockList blocks, AquaTensor& tensor, Stream stream,
                                  std::size_t offset) {
  return impl_->offload(blocks, tensor, stream, offset);
}
Result<Ticket> LayerPool::fetch(AquaTensor& tensor, BlockList blocks, Stream stream,
                                std::size_t offset) {
  return impl_->fetch(tensor, blocks, stream, offset);
}
std::size_t LayerPool::packed_bytes(std::size_t blocks) const noexcept {
  return impl_->packed_bytes(blocks);
}
Result<void> LayerPool::resize(std::uint32_t frames) {
  return impl_->resize(frames);
}
Result<bool> LayerPool::resize(std::uint32_t frames, layer_swap::BlockPool& blocks, Stream stream) {
  return impl_->resize(frames, blocks, stream);
}
std::uint32_t LayerPool::propose() {
  return impl_->propose();
}
Result<bool> LayerPool::adapt(layer_swap::BlockPool& blocks, Stream stream) {
  return impl_->adapt(blocks, stream);
}
Result<void> LayerPool::discard() {
  return impl_->discard();
}
LayerPoolStatus LayerPool::status() const {
  return impl_->status();
}

}  // namespace aqua
