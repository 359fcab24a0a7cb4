// SPDX-License-Identifier: Apache-2.0
#include "aqua/layer_swap/block_pool.hpp"

#include <algorithm>

#include "base/concat.hpp"

// Invariants: each block below usable_blocks() is free, held by one sequence, or where one move
// goes. Blocks at or past it are held or nobody's. Sequences that are not to be preempted hold at
// most usable_blocks() blocks.
namespace aqua::layer_swap {

BlockPool::BlockPool(std::uint32_t layers, std::uint32_t blocks)
    : size_(blocks), target_(blocks), ready_(layers) {
  for (BlockId block = 0; block < blocks; ++block) free_.insert(free_.end(), block);
}

Result<BlockPool> BlockPool::create(std::uint32_t layers, std::uint32_t blocks) {
  if (layers == 0 || blocks == 0) {
    return Error{Code::invalid_argument,
                 concat("BlockPool::create: ", layers, " layers of ", blocks, " blocks")};
  }
  return BlockPool(layers, blocks);
}

std::uint64_t BlockPool::moves_without_place() const {
  std::uint64_t count = 0;
  for (const auto& [id, sequence] : sequences_) {
    if (past_end_ == 0) break;
    if (sequence.preempted) continue;
    for (const BlockId block : sequence.blocks) {
      count += block >= usable_blocks() && !moves_.contains(block) ? 1U : 0U;
    }
  }
  return count;
}

std::uint32_t BlockPool::free_blocks() const {
  const std::uint64_t kept = moves_without_place();
  return free_.size() <= kept ? 0 : static_cast<std::uint32_t>(free_.size() - kept);
}

Result<std::vector<BlockId>> BlockPool::allocate(SequenceId sequence, std::uint32_t count) {
  const auto found = sequences_.find(sequence);
  if (found != sequences_.end() && found->second.preempted) {
    return Error{Code::failed_precondition,
                 concat("allocate: sequence ", sequence, " is to be preempted")};
  }
  if (count > free_blocks()) {
    return Error{Code::resource_exhausted,
                 concat("allocate: ", count, " blocks for sequence ", sequence, "; ", free_blocks(),
                        " of ", usable_blocks(), " are free")};
  }
  if (count == 0) return std::vector<BlockId>{};
  const auto end = std::next(free_.begin(), count);
  std::vector<BlockId> blocks(free_.begin(), end);
  if (found == sequences_.end()) {
    sequences_.emplace(sequence, Sequence{.came = came_, .blocks = blocks});
    came_ += 1;
  } else {
    found->second.blocks.insert(found->second.blocks.end(), blocks.begin(), blocks.end());
  }
  free_.erase(free_.begin(), end);  // last: what takes memory may throw
  return blocks;
}

Result<void> BlockPool::release(SequenceId sequence) {
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) {
    return Error{Code::not_found, concat("release: sequence ", sequence, " has no blocks")};
  }
  std::set<BlockId> back;  // made first: what takes memory may throw
  for (const BlockId block : found->second.blocks) {
    if (block < usable_blocks()) back.insert(block);
    if (const auto move = moves_.find(block); move != moves_.end()) back.insert(move->second.to);
  }
  for (const BlockId block : found->second.blocks) {
    moves_.erase(block);
    past_end_ -= block < usable_blocks() ? 0U : 1U;
  }
  free_.merge(back);
  sequences_.erase(found);
  return {};
}

// The sequences that came last, as many as leave no more blocks than are usable.
std::vector<SequenceId> BlockPool::choose_preempted() {
  std::vector<std::pair<std::uint64_t, SequenceId>> last_first;
  std::uint64_t held = 0;
  for (const auto& [id, sequence] : sequences_) {
    last_first.emplace_back(sequence.came, id);
    held += sequence.blocks.size();
  }
  std::sort(last_first.rbegin(), last_first.rend());
  std::vector<SequenceId> chosen;
  for (std::size_t i = 0; held > usable_blocks(); ++i) {
    Sequence& sequence = sequences_.at(last_first[i].second);
    sequence.preempted = true;
    held -= sequence.blocks.size();
    chosen.push_back(last_first[i].second);
  }
  return chosen;
}

Result<std::vector<SequenceId>> BlockPool::resize(std::uint32_t blocks) {
  if (blocks == 0) return Error{Code::invalid_argument, "resize: to no blocks"};
  if (resizing_ && target_ < size_) {
    return Error{Code::failed_precondition,
                 concat("resize: to ", blocks, " blocks, while blocks leave for ", target_)};
  }
  target_ = blocks;
  resizing_ = target_ != size_;
  ready_.assign(ready_.size(), false);
  if (target_ >= size_) return std::vector<SequenceId>{};
  free_.erase(free_.lower_bound(target_), free_.end());
  for (const auto& [id, sequence] : sequences_) {
    for (const BlockId block : sequence.blocks) past_end_ += block >= target_ ? 1U : 0U;
  }
  return choose_preempted();
}

std::vector<BlockMove> BlockPool::take_moves() {
  std::vector<BlockMove> taken;
  if (past_end_ == 0) return taken;
  for (const auto& [id, sequence] : sequences_) {
    if (sequence.preempted) continue;
    for (const BlockId block : sequence.blocks) {
      if (block < usable_blocks() || moves_.contains(block)) continue;
      if (free_.empty()) return taken;
      const BlockMove move{id, block, *free_.begin()};
      free_.erase(free_.begin());
      moves_.emplace(block, move);
      taken.push_back(move);
    }
  }
  return taken;
}

Result<void> BlockPool::moved(BlockId from) {
  const auto move = moves_.find(from);
  if (move == moves_.end()) {
    return Error{Code::not_found, concat("moved: no move of block ", from, " was taken")};
  }
  auto& blocks = sequences_.at(move->second.sequence).blocks;
  *std::find(blocks.begin(), blocks.end(), from) = move->second.to;
  moves_.erase(move);
  past_end_ -= 1;
  return {};
}

Result<void> BlockPool::layer_ready(std::uint32_t layer) {
  if (layer >= ready_.size()) {
    return Error{Code::invalid_argument,
                 concat("layer_ready: layer ", layer, " of ", ready_.size())};
  }
  if (!resizing_) {
    return Error{Code::failed_precondition,
                 concat("layer_ready: layer ", layer, ", while no resize is under way")};
  }
  if (!vacated()) {
    return Error{Code::failed_precondition,
                 concat("layer_ready: layer ", layer, ", while ", past_end_, " blocks past ",
                        target_, " are held")};
  }
  if (ready_[layer]) {
    return Error{Code::invalid_argument, concat("layer_ready: layer ", layer, " twice")};
  }
  ready_[layer] = true;
  if (std::find(ready_.begin(), ready_.end(), false) == ready_.end()) finish_resize();
  return {};
}

void BlockPool::finish_resize() {
  for (BlockId block = size_; block < target_; ++block) free_.insert(free_.end(), block);
  size_ = target_;
  resizing_ = false;
}

std::vector<SequenceId> BlockPool::sequences() const {
  std::vector<SequenceId> all;
  for (const auto& [id, sequence] : sequences_) all.push_back(id);
  return all;
}

std::vector<BlockId> BlockPool::blocks_of(SequenceId sequence) const {
  const auto found = sequences_.find(sequence);
  return found == sequences_.end() ? std::vector<BlockId>{} : found->second.blocks;
}

}  // namespace aqua::layer_swap
