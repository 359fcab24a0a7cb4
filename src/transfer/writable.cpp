// SPDX-License-Identifier: Apache-2.0
#include "transfer/writable.hpp"

#include <optional>
#include <span>
#include <vector>

#include "base/try.hpp"
#include "layout/block_pieces.hpp"
#include "layout/range_copy.hpp"

namespace aqua::transfer {
namespace {

// The blocks that the range touches, whole.
Result<void> check_blocks(const device::Device& device, const Layout& layout, BlockList blocks,
                          const std::optional<KvRange>& range) {
  const LayoutSpec& spec = layout.spec();
  AQUA_ASSIGN(const KvRange exact,
              layout::resolve(layout, blocks.size(), range.value_or(KvRange{})));
  if (exact.tokens.count == 0) return {};
  const std::uint32_t per_block = spec.axes.tokens.count;
  const std::size_t first = exact.tokens.first / per_block;
  const std::size_t last = (std::size_t{exact.tokens.first} + exact.tokens.count - 1) / per_block;
  const layout::BlockPieces pieces(spec.axes);
  const std::vector<std::size_t> offsets = pieces.offsets();
  const auto planes = std::span(spec.planes)
                          .subspan(std::size_t{exact.layers.first} * spec.planes_per_layer,
                                   std::size_t{exact.layers.count} * spec.planes_per_layer);
  for (const std::byte* plane : planes) {
    if (device.check_writable(plane, layout::plane_extent(spec)).ok()) continue;
    for (const std::uint32_t block : blocks.subspan(first, last + 1 - first)) {
      for (const std::size_t offset : offsets) {
        AQUA_TRY(device.check_writable(plane + block * spec.block_stride + offset, pieces.bytes()));
      }
    }
  }
  return {};
}

}  // namespace

Result<void> check_writable(const device::Device& device, const TransferRequest& request,
                            std::size_t bytes) {
  if (request.direction == Direction::fetch)
    return check_blocks(device, *request.layout, request.blocks, request.range);
  if (const auto& paged = request.paged)
    return check_blocks(device, *paged->layout, paged->blocks, paged->range);
  return device.check_writable(request.tensor + request.offset, bytes);
}

}  // namespace aqua::transfer
