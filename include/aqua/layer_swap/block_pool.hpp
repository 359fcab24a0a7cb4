// SPDX-License-Identifier: Apache-2.0
// BlockPool is an engine's free list of KV blocks, whose size changes while the engine runs (Pie,
// 4.1). A block has the same number in every layer, and low numbers are handed out first.
//
// Growing: blocks are handed out once every layer has memory for them.
//
//   auto grown = pool.resize(more);
//   for (std::uint32_t layer = 0; layer < pool.layers(); ++layer) {
//     add_memory(layer);
//     auto ready = pool.layer_ready(layer);
//   }
//
// Shrinking: blocks past the new size are handed out no more. Sequences that find no room are
// named, to be preempted, and the others' blocks past the end are to be moved; then memory is cut.
//
//   auto preempted = pool.resize(fewer);
//   for (SequenceId sequence : *preempted) {
//     copy_out(sequence);
//     auto out = pool.release(sequence);
//   }
//   for (const BlockMove& move : pool.take_moves()) {
//     copy_in_every_layer(move.from, move.to);
//     auto there = pool.moved(move.from);
//   }
//   for (std::uint32_t layer = 0; pool.vacated() && layer < pool.layers(); ++layer) {
//     cut_memory(layer);
//     auto ready = pool.layer_ready(layer);
//   }
//
// LayerPool::resize() and adapt() do all of this for an engine that has its blocks from here.
//
// Threads: not thread-safe; deterministic.
// Owns: numbers only.
// Errors: a call that fails changes nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "aqua/export.h"
#include "aqua/result.hpp"

namespace aqua::layer_swap {

using BlockId = std::uint32_t;
using SequenceId = std::uint64_t;

struct BlockMove {
  SequenceId sequence = 0;
  BlockId from = 0;
  BlockId to = 0;
  friend bool operator==(const BlockMove&, const BlockMove&) = default;
};

class AQUA_API BlockPool {
 public:
  // invalid_argument: no layers, or no blocks.
  [[nodiscard]] static Result<BlockPool> create(std::uint32_t layers, std::uint32_t blocks);

  // Appends `count` blocks to those of a sequence, and answers them. resource_exhausted: so many
  // are not free, or are kept for moves. failed_precondition: the sequence is to be preempted.
  [[nodiscard]] Result<std::vector<BlockId>> allocate(SequenceId sequence, std::uint32_t count);
  // Takes all blocks of a sequence back. Call it while no copy of one of its moves runs. not_found:
  // it has none.
  [[nodiscard]] Result<void> release(SequenceId sequence);

  // Changes the size, and names the sequences to preempt, last come first. A growth that is not
  // through may be followed by another size. invalid_argument: to none. failed_precondition: blocks
  // are leaving for an earlier call.
  [[nodiscard]] Result<std::vector<SequenceId>> resize(std::uint32_t blocks);
  // The moves that have a place to go, each answered once; those that wait for a preempted
  // sequence's blocks follow after its release().
  [[nodiscard]] std::vector<BlockMove> take_moves();
  // Says that a block was copied in every layer. not_found: no such move was taken.
  [[nodiscard]] Result<void> moved(BlockId from);
  // Says that a layer has the memory of the new size. failed_precondition: no resize is under way,
  // or blocks past its end are held. invalid_argument: no such layer, or twice.
  [[nodiscard]] Result<void> layer_ready(std::uint32_t layer);

  [[nodiscard]] std::uint32_t layers() const { return static_cast<std::uint32_t>(ready_.size()); }
  // Blocks that sequences may have: the lesser of the old size and the new.
  [[nodiscard]] std::uint32_t usable_blocks() const { return std::min(size_, target_); }
  [[nodiscard]] std::uint32_t target_blocks() const { return target_; }
  [[nodiscard]] bool resizing() const { return resizing_; }
  // No block past usable_blocks() is held.
  [[nodiscard]] bool vacated() const { return past_end_ == 0; }
  [[nodiscard]] std::uint32_t free_blocks() const;  // that allocate() would give
  // Those that hold blocks, by number: what a layer that is lost has lost.
  [[nodiscard]] std::vector<SequenceId> sequences() const;
  // In the order of the sequence's tokens; of none, nothing.
  [[nodiscard]] std::vector<BlockId> blocks_of(SequenceId sequence) const;

 private:
  struct Sequence {
    std::uint64_t came = 0;
    bool preempted = false;
    std::vector<BlockId> blocks{};
  };
  BlockPool(std::uint32_t layers, std::uint32_t blocks);
  [[nodiscard]] std::vector<SequenceId> choose_preempted();
  [[nodiscard]] std::uint64_t moves_without_place() const;
  void finish_resize();

  std::uint32_t size_, target_;
  bool resizing_ = false;
  std::set<BlockId> free_;  // below usable_blocks(), and no move's destination
  std::map<SequenceId, Sequence> sequences_;
  std::map<BlockId, BlockMove> moves_;  // taken and not done, by where from
  std::uint32_t past_end_ = 0;          // blocks held at or past usable_blocks()
  std::vector<bool> ready_;             // layers that have the new size
  std::uint64_t came_ = 0;
};

}  // namespace aqua::layer_swap
