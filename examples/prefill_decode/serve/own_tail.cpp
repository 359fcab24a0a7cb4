// SPDX-License-Identifier: Apache-2.0
#include "serve/own_tail.hpp"

#include <algorithm>
#include <cstring>

namespace aqua::prefill_decode {

std::size_t blocks_in_doubt(const Parcel& parcel, std::uint32_t tokens_per_block) {
  if (!parcel.tail_in_doubt) return 0;
  const std::size_t full = parcel.tokens / tokens_per_block;
  return parcel.blocks.size() - std::min(full, parcel.blocks.size());
}

std::vector<std::uint32_t> with_own_tail(const Layout& layout, const Parcel& parcel,
                                         const std::vector<std::uint32_t>& own) {
  std::vector<std::uint32_t> blocks = parcel.blocks;
  const LayoutSpec& spec = layout.spec();
  const std::size_t first = blocks.size() - own.size();
  for (std::size_t i = 0; i < own.size(); ++i) {
    for (std::byte* const plane : spec.planes) {
      std::memcpy(plane + own[i] * spec.block_stride, plane + blocks[first + i] * spec.block_stride,
                  layout.plane_block_bytes());
    }
    blocks[first + i] = own[i];
  }
  return blocks;
}

}  // namespace aqua::prefill_decode
