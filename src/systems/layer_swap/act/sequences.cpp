// SPDX-License-Identifier: Apache-2.0
// LayerPool's blocks to tensors and back. Streamed layers are copied from what is away, which has
// the bytes of every step that was posted once they are saved, and into it.
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "systems/layer_swap/act/layer_pool_impl.hpp"

namespace aqua {

// Fails where what is away of a streamed layer is lost. For one that stays, what is away is room
// that a change of frames has taken beforehand.
Result<void> LayerPool::Impl::check_away() {
  for (std::uint32_t layer = 0; layer < options_.layers; ++layer) {
    if (memory_.streamed()[layer] && away_.lost(layer))
      return steps_.lose(concat("layer ", layer), {Code::data_loss, "what is away of it is gone"});
  }
  return {};
}

Result<void> LayerPool::Impl::check_transfer(const char* call, BlockList blocks,
                                             const AquaTensor& tensor, std::size_t offset) {
  AQUA_TRY(steps_.check_between(call));
  AQUA_TRY(check_away());
  AQUA_TRY(memory_.check(call, "the list", blocks));
  const std::size_t bytes = packed_bytes(blocks.size());
  if (offset <= tensor.bytes() && bytes <= tensor.bytes() - offset) return {};
  return Error{Code::invalid_argument, concat(call, ": ", bytes, " bytes at offset ", offset,
                                              " do not fit a tensor of ", tensor.bytes())};
}

// Posts the copies of each layer by post(layer, tickets), behind others_. Frames change only after
// what was posted, also before a layer was refused or memory ran out.
template <typename Post>
Result<Ticket> LayerPool::Impl::post_layers(Stream stream, const Post& post) {
  std::vector<Ticket> tickets;
  try {
    Result<void> posted;
    for (std::uint32_t layer = 0; layer < options_.layers && posted.ok(); ++layer)
      posted = post(layer, tickets);
    const auto ordered = others_.run_after(stream);
    AQUA_TRY(posted);
    AQUA_TRY(ordered);
  } catch (...) {
    (void)others_.run_after(stream);
    throw;
  }
  return Ticket::join(std::move(tickets));
}

Result<Ticket> LayerPool::Impl::offload(BlockList blocks, AquaTensor& tensor, Stream stream,
                                        std::size_t offset) {
  AQUA_TRY(check_transfer("offload", blocks, tensor, offset));
  const auto count = static_cast<std::uint32_t>(blocks.size());
  if (count == 0) return Ticket::join({});
  AQUA_TRY(others_.run_after(stream));  // refuses a stream under capture before anything is posted
  AQUA_TRY(steps_.save(blocks));
  const auto places = first_blocks(count);
  const auto split = away_.split(blocks);
  const auto post = [&](std::uint32_t layer, std::vector<Ticket>& tickets) -> Result<void> {
    const std::size_t at = offset + std::size_t{layer} * count * layer_block_bytes();
    if (memory_.streamed()[layer])
      return away_.copy_to(layer, split, tensor, count, at, stream, tickets);
    AQUA_ASSIGN(auto ticket, runtime_.offload(memory_.layout(layer), blocks, tensor,
                                              TensorPages{count, places, at}, stream));
    tickets.push_back(std::move(ticket));
    return {};
  };
  return post_layers(stream, post);
}

Result<Ticket> LayerPool::Impl::fetch(AquaTensor& tensor, BlockList blocks, Stream stream,
                                      std::size_t offset) {
  AQUA_TRY(check_transfer("fetch", blocks, tensor, offset));
  const auto count = static_cast<std::uint32_t>(blocks.size());
  if (count == 0) return Ticket::join({});
  AQUA_TRY(others_.run_after(stream));
  const auto places = first_blocks(count);
  const auto split = away_.split(blocks);
  AQUA_ASSIGN(const Pin source,
              tensor.pin(Access::read, stream, {offset, packed_bytes(blocks.size())}));
  // What frames of streamed layers have of these blocks is old from now on.
  steps_.forget(blocks);
  const auto post = [&](std::uint32_t layer, std::vector<Ticket>& tickets) -> Result<void> {
    const std::size_t at = std::size_t{layer} * count * layer_block_bytes();
    if (memory_.streamed()[layer])
      return away_.copy_from(layer, split, source.data() + at, count, stream, tickets);
    AQUA_ASSIGN(auto ticket, runtime_.fetch(tensor, {count, places, offset + at},
                                            memory_.layout(layer), blocks, stream));
    tickets.push_back(std::move(ticket));
    return {};
  };
  return post_layers(stream, post);
}

}  // namespace aqua
