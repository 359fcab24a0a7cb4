// SPDX-License-Identifier: Apache-2.0
#include "layout/checked_blocks.hpp"

#include <string>
#include <vector>

#include "base/concat.hpp"

namespace aqua::layout {
namespace {

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("block list: ", what)};
}

}  // namespace

Segments segments_of(const Layout& layout) noexcept {
  const LayoutSpec& spec = layout.spec();
  if (spec.segment_stride != spec.segment_bytes) {
    return {spec.segments_per_block, spec.segment_bytes, false};
  }
  const std::size_t block = layout.plane_block_bytes();
  return {1, block, spec.block_stride == block};
}

// The hot loop of preparing a transfer: once for each block.
Result<CheckedBlocks> CheckedBlocks::make(const Layout& layout, BlockList blocks) {
  const std::uint32_t count = layout.spec().block_count;
  const Segments segments = segments_of(layout);
  constexpr std::uint32_t kBits = 64;
  std::vector<std::uint64_t> seen(blocks.empty() ? 0 : count / kBits + 1);
  CheckedBlocks made(blocks);
  std::size_t singles = 0;
  std::size_t run = 0;       // blocks of the run so far
  std::size_t next = count;  // the block that would continue it: none
  const auto end_run = [&] {
    if (run == 1) {
      ++singles;
    } else {
      made.plane_.add(1, run * segments.bytes);
    }
  };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::uint32_t block = blocks[i];
    if (block >= count) return bad(concat("entry ", i, " is block ", block, " of ", count));
    std::uint64_t& word = seen[block / kBits];
    const std::uint64_t bit = std::uint64_t{1} << block % kBits;
    if ((word & bit) != 0) return bad(concat("block ", block, " is listed again at entry ", i));
    word |= bit;
    if (!segments.joins) continue;
    if (block != next) {
      end_run();
      run = 0;
    }
    ++run;
    next = std::size_t{block} + 1;
  }
  if (segments.joins) {
    end_run();
    made.plane_.add(singles, segments.bytes);
  } else {
    made.plane_.add(blocks.size() * segments.count, segments.bytes);
  }
  return made;
}

}  // namespace aqua::layout
