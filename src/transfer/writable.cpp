// SPDX-License-Identifier: Apache-2.0
#include "transfer/writable.hpp"

#include "base/try.hpp"

namespace aqua::transfer {
namespace {

Result<void> check_blocks(const device::Device& device, const Layout& layout, BlockList blocks) {
  const LayoutSpec& spec = layout.spec();
  const std::size_t plane_bytes = (spec.block_count - 1) * spec.block_stride +
                                  (spec.segments_per_block - 1) * spec.segment_stride +
                                  spec.segment_bytes;
  for (const std::byte* plane : spec.planes) {
    if (device.check_writable(plane, plane_bytes).ok()) continue;
    for (const std::uint32_t block : blocks) {
      for (unsigned segment = 0; segment < spec.segments_per_block; ++segment) {
        AQUA_TRY(device.check_writable(
            plane + block * spec.block_stride + segment * spec.segment_stride, spec.segment_bytes));
      }
    }
  }
  return {};
}

}  // namespace

Result<void> check_writable(const device::Device& device, const TransferRequest& request,
                            std::size_t bytes) {
  if (request.direction == Direction::fetch)
    return check_blocks(device, *request.layout, request.blocks);
  if (request.paged) return check_blocks(device, *request.paged->layout, request.paged->blocks);
  return device.check_writable(request.tensor + request.offset, bytes);
}

}  // namespace aqua::transfer
