// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/act/away_copies.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::layer_swap {

AwayCopies::AwayCopies(Runtime runtime, std::uint32_t layers, std::uint32_t planes_per_layer,
                       std::size_t block_bytes, std::string name)
    : runtime_(std::move(runtime)),
      planes_(planes_per_layer),
      block_bytes_(block_bytes),
      name_(std::move(name)),
      tensors_(layers) {}

Result<void> AwayCopies::extend(const std::vector<bool>& away, std::uint32_t blocks) {
  if (ends_.empty() || ends_.back() < blocks) ends_.push_back(blocks);
  for (std::uint32_t layer = 0; layer < tensors_.size(); ++layer) {
    if (!away[layer]) continue;
    for (std::size_t chunk = tensors_[layer].size(); chunk < ends_.size(); ++chunk) {
      const std::size_t bytes = std::size_t{pages_in(chunk)} * planes_ * block_bytes_;
      AQUA_ASSIGN(auto tensor, runtime_.allocate({.bytes = bytes,
                                                  .name = concat(name_, " layer ", layer),
                                                  .off_device = true}));
      tensors_[layer].push_back(std::move(tensor));
    }
  }
  return {};
}

void AwayCopies::trim(const std::vector<bool>& away, std::uint32_t blocks) {
  while (!ends_.empty() && begin_of(ends_.size() - 1) >= blocks) ends_.pop_back();
  for (std::uint32_t layer = 0; layer < tensors_.size(); ++layer) {
    auto& chunks = tensors_[layer];
    const std::size_t kept = away[layer] ? std::min(chunks.size(), ends_.size()) : 0;
    chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(kept), chunks.end());
  }
}

void AwayCopies::drop_lost(const std::vector<bool>& away) {
  for (std::uint32_t layer = 0; layer < tensors_.size(); ++layer) {
    if (!away[layer] && lost(layer)) tensors_[layer].clear();
  }
}

SplitBlocks AwayCopies::split(BlockList blocks) const {
  SplitBlocks all(ends_.size());
  for (std::size_t chunk = 0; chunk < all.size(); ++chunk) all[chunk].chunk = chunk;
  for (std::uint32_t place = 0; place < blocks.size(); ++place) {
    const std::uint32_t block = blocks[place];
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), block);
    ChunkBlocks& of = all[static_cast<std::size_t>(end - ends_.begin())];
    of.blocks.push_back(block);
    of.pages.push_back(block - begin_of(of.chunk));
    of.places.push_back(place);
  }
  std::erase_if(all, [](const ChunkBlocks& of) { return of.blocks.empty(); });
  return all;
}

Result<void> AwayCopies::offload(std::uint32_t layer, const Layout& layout,
                                 const SplitBlocks& blocks, Stream stream, Tickets& tickets) {
  for (const ChunkBlocks& of : blocks) {
    AQUA_ASSIGN(auto ticket, runtime_.offload(layout, of.blocks, tensors_[layer][of.chunk],
                                              pages_of(of), stream));
    tickets.push_back(std::make_shared<Ticket>(std::move(ticket)));
  }
  return {};
}

Result<void> AwayCopies::fetch(std::uint32_t layer, const Layout& layout, const SplitBlocks& blocks,
                               Stream stream, Tickets& tickets) {
  for (const ChunkBlocks& of : blocks) {
    AQUA_ASSIGN(auto ticket,
                runtime_.fetch(tensors_[layer][of.chunk], pages_of(of), layout, of.blocks, stream));
    tickets.push_back(std::make_shared<Ticket>(std::move(ticket)));
  }
  return {};
}

Result<Layout> AwayCopies::layout_at(std::byte* base, std::uint32_t count) const {
  std::vector<std::byte*> planes;
  for (std::uint32_t p = 0; p < planes_; ++p)
    planes.push_back(base + std::size_t{p} * count * block_bytes_);
  return Layout::make({.layers = 1,
                       .planes_per_layer = planes_,
                       .planes = std::move(planes),
                       .block_count = count,
                       .block_stride = block_bytes_,
                       .axes = BlockAxes::whole(block_bytes_)});
}

Result<void> AwayCopies::copy_to(std::uint32_t layer, const SplitBlocks& blocks, AquaTensor& tensor,
                                 std::uint32_t count, std::size_t offset, Stream stream,
                                 std::vector<Ticket>& tickets) {
  for (const ChunkBlocks& of : blocks) {
    AQUA_ASSIGN(const Pin pin, tensors_[layer][of.chunk].pin(Access::read, stream));
    AQUA_ASSIGN(const Layout here, layout_at(pin.data(), pages_in(of.chunk)));
    AQUA_ASSIGN(auto ticket,
                runtime_.offload(here, of.pages, tensor, {count, of.places, offset}, stream));
    tickets.push_back(std::move(ticket));
  }
  return {};
}

// Written as pages of what is away, which waits for none of its moves.
Result<void> AwayCopies::copy_from(std::uint32_t layer, const SplitBlocks& blocks,
                                   std::byte* source, std::uint32_t count, Stream stream,
                                   std::vector<Ticket>& tickets) {
  AQUA_ASSIGN(const Layout there, layout_at(source, count));
  for (const ChunkBlocks& of : blocks) {
    AQUA_ASSIGN(auto ticket, runtime_.offload(there, of.places, tensors_[layer][of.chunk],
                                              pages_of(of), stream));
    tickets.push_back(std::move(ticket));
  }
  return {};
}

bool AwayCopies::lost(std::uint32_t layer) const {
  return std::any_of(tensors_[layer].begin(), tensors_[layer].end(),
                     [](const AquaTensor& tensor) { return tensor.lost(); });
}

std::size_t AwayCopies::bytes() const {
  std::size_t all = 0;
  for (const auto& chunks : tensors_) {
    for (const AquaTensor& tensor : chunks) all += tensor.bytes();
  }
  return all;
}

std::size_t AwayCopies::peer_bytes() const {
  std::size_t all = 0;
  for (const auto& chunks : tensors_) {
    for (const AquaTensor& tensor : chunks) all += tensor.tier() == Tier::peer ? tensor.bytes() : 0;
  }
  return all;
}

}  // namespace aqua::layer_swap
