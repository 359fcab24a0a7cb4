// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/act/away_microbatch.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::kv_stream {

Result<std::vector<Layout>> layers_of(const Layout& buffer) {
  std::vector<Layout> layers;
  LayoutSpec one = buffer.spec();
  one.layers = 1;
  for (unsigned layer = 0; layer < buffer.layers(); ++layer) {
    const auto first = buffer.spec().planes.begin() +
                       static_cast<std::ptrdiff_t>(std::size_t{layer} * one.planes_per_layer);
    one.planes.assign(first, first + static_cast<std::ptrdiff_t>(one.planes_per_layer));
    AQUA_ASSIGN(auto made, Layout::make(one));
    layers.push_back(std::move(made));
  }
  return layers;
}

Result<AwayMicrobatch> AwayMicrobatch::create(Runtime& runtime, const std::vector<Layout>& like,
                                              const std::string& name) {
  std::vector<AquaTensor> tensors;
  const std::uint32_t blocks = like.front().spec().block_count;
  for (std::size_t layer = 0; layer < like.size(); ++layer) {
    AQUA_ASSIGN(auto tensor, runtime.allocate({.bytes = like[layer].packed_bytes(blocks),
                                               .name = concat(name, " layer ", layer),
                                               .off_device = true}));
    tensors.push_back(std::move(tensor));
  }
  return AwayMicrobatch(std::move(tensors), blocks);
}

void AwayMicrobatch::hold(BlockList blocks) {
  for (const std::uint32_t block : blocks) {
    held_ += holds_[block] ? 0U : 1U;
    holds_[block] = true;
  }
}

void AwayMicrobatch::drop(BlockList blocks) {
  for (const std::uint32_t block : blocks) {
    held_ -= holds_[block] ? 1U : 0U;
    holds_[block] = false;
  }
}

void AwayMicrobatch::drop_all() {
  holds_.assign(holds_.size(), false);
  held_ = 0;
}

Result<std::size_t> AwayMicrobatch::fetch(Runtime& runtime, const std::vector<Layout>& buffer,
                                          Stream stream, Tickets& tickets) {
  if (empty()) return 0;
  std::vector<std::uint32_t> blocks;
  for (std::uint32_t block = 0; block < holds_.size(); ++block) {
    if (holds_[block]) blocks.push_back(block);
  }
  std::size_t bytes = 0;
  for (std::size_t layer = 0; layer < buffer.size(); ++layer) {
    AQUA_ASSIGN(auto ticket,
                runtime.fetch(tensors_[layer], pages(blocks), buffer[layer], blocks, stream));
    bytes += ticket.bytes();
    tickets.push_back(std::make_shared<Ticket>(std::move(ticket)));
  }
  return bytes;
}

Result<std::size_t> AwayMicrobatch::offload(Runtime& runtime, const std::vector<Layout>& buffer,
                                            BlockList blocks, Stream stream, Tickets& tickets) {
  if (blocks.empty()) return 0;
  std::size_t bytes = 0;
  for (std::size_t layer = 0; layer < buffer.size(); ++layer) {
    AQUA_ASSIGN(auto ticket,
                runtime.offload(buffer[layer], blocks, tensors_[layer], pages(blocks), stream));
    bytes += ticket.bytes();
    tickets.push_back(std::make_shared<Ticket>(std::move(ticket)));
  }
  return bytes;
}

std::size_t AwayMicrobatch::bytes() const {
  std::size_t all = 0;
  for (const AquaTensor& tensor : tensors_) all += tensor.bytes();
  return all;
}

std::size_t AwayMicrobatch::peer_bytes() const {
  std::size_t all = 0;
  for (const AquaTensor& tensor : tensors_) all += tensor.tier() == Tier::peer ? tensor.bytes() : 0;
  return all;
}

}  // namespace aqua::kv_stream
