// SPDX-License-Identifier: Apache-2.0
#include "layout/checked_blocks.hpp"

#include <string>
#include <vector>

#include "base/concat.hpp"
#include "layout/block_pieces.hpp"

namespace aqua::layout {
namespace {

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("block list: ", what)};
}

}  // namespace

// The hot loop of preparing a transfer: once for each block.
Result<CheckedBlocks> CheckedBlocks::make(const Layout& layout, BlockList blocks) {
  const std::uint32_t count = layout.spec().block_count;
  const BlockPieces pieces(layout.spec().axes);
  const bool joins = blocks_join(layout.spec(), pieces);
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
      made.plane_.add(1, run * pieces.bytes());
    }
  };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::uint32_t block = blocks[i];
    if (block >= count) return bad(concat("entry ", i, " is block ", block, " of ", count));
    std::uint64_t& word = seen[block / kBits];
    const std::uint64_t bit = std::uint64_t{1} << block % kBits;
    if ((word & bit) != 0) return bad(concat("block ", block, " is listed again at entry ", i));
    word |= bit;
    if (!joins) continue;
    if (block != next) {
      end_run();
      run = 0;
    }
    ++run;
    next = std::size_t{block} + 1;
  }
  if (joins) {
    end_run();
    made.plane_.add(singles, pieces.bytes());
  } else {
    made.plane_.add(blocks.size() * pieces.count(), pieces.bytes());
  }
  return made;
}

}  // namespace aqua::layout
