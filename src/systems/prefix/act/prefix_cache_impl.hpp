// SPDX-License-Identifier: Apache-2.0
// What stands behind PrefixCache. prefix_cache.cpp moves blocks, prefix_room.cpp makes room for
// tensors.
//
// Invariant: outside a call, tensors_ has a tensor for exactly the present blocks of index_. A
// block that is evicted or lost in the index loses its tensor in the same call; a block whose
// tensor cannot be made is lost in the index again. A tensor dropped here outlives the copies
// queued on it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aqua/prefix/prefix_cache.hpp"
#include "base/concat.hpp"
#include "base/internals.hpp"

namespace aqua {

using prefix::BlockHash;
using prefix::Prefix;
using prefix::PrefixMatch;

class PrefixCache::Impl {
 public:
  Impl(Runtime& runtime, PrefixCopies copies, const PrefixCacheOptions& options,
       prefix::PrefixIndex index)
      : runtime_(detail::Internals::view(runtime)),
        copies_(std::move(copies)),
        options_(options),
        has_local_(runtime_.status().local.capacity_bytes > 0),
        index_(std::move(index)) {}

  // The engine's blocks that make up block i of the index.
  [[nodiscard]] BlockList part(BlockList blocks, std::size_t i, std::size_t tokens) const {
    const std::size_t ratio = options_.index.block_tokens / options_.engine_block_tokens;
    const std::size_t all = engine_blocks(tokens);
    return blocks.subspan(i * ratio, std::min(ratio, all - i * ratio));
  }
  [[nodiscard]] std::size_t engine_blocks(std::size_t tokens) const {
    return (tokens + options_.engine_block_tokens - 1) / options_.engine_block_tokens;
  }
  [[nodiscard]] Result<void> check(const char* call, std::size_t tokens, BlockList blocks) const {
    if (blocks.size() >= engine_blocks(tokens)) return {};
    return Error{Code::invalid_argument,
                 concat(call, ": ", tokens, " tokens need ", engine_blocks(tokens), " blocks, not ",
                        blocks.size())};
  }

  [[nodiscard]] Result<PrefixTransfer> fetch(const Prefix& prefix, BlockList blocks, Stream stream);
  // With `keep` the new tensors are not discardable, and blocks that are there without an exit are
  // stored anew.
  [[nodiscard]] Result<PrefixTransfer> store(const Prefix& prefix, BlockList blocks, Stream stream,
                                             bool keep);
  [[nodiscard]] Result<AquaTensor> allocate_block(std::size_t bytes, bool keep);
  [[nodiscard]] Result<AquaTensor> allocate_before_prefixes(const TensorOptions& options);
  std::size_t evict_for(bool discardable);
  // Frees what the index has evicted; returns its bytes.
  std::size_t discard(const std::vector<BlockHash>& blocks) {
    const std::size_t before = bytes_;
    for (const BlockHash& block : blocks) {
      const auto found = tensors_.find(block);
      if (found == tensors_.end()) continue;
      bytes_ -= found->second.tensor.bytes();
      tensors_.erase(found);
    }
    return before - bytes_;
  }
  // Tells the index where the tensor of a present block is: they move on their own. False when its
  // bytes are lost.
  [[nodiscard]] bool look_at(const BlockHash& block) {
    Cached& cached = tensors_.at(block);
    const Tier tier = cached.tensor.tier();
    cached.has_exit |= tier == Tier::host;
    return !cached.tensor.lost() && index_.moved(block, tier).ok();
  }
  void look_at_all();
  // Takes out what was lost of the prefix since it was looked at.
  void refresh(const Prefix& prefix) {
    for (const BlockHash& block : prefix.chain.first(index_.match(prefix).blocks)) {
      if (look_at(block)) continue;
      lose(block);
      break;
    }
  }
  void lose(const BlockHash& block) {
    if (auto gone = index_.lost(block); gone.ok()) discard(*gone);
  }
  // Ends the pin of a name. Ignores blocks that were lost since they were pinned.
  void unpin(std::string_view id) {
    const auto found = pinned_.find(std::string(id));
    if (found == pinned_.end()) return;
    (void)index_.unpin(found->second);
    pinned_.erase(found);
  }

  struct Cached {
    AquaTensor tensor;
    // Owns a range of host memory for as long as it lives: it was made with one, or was seen to lie
    // there.
    bool has_exit = false;
  };

  Runtime runtime_;  // a view of the caller's, which may move his
  const PrefixCopies copies_;
  const PrefixCacheOptions options_;
  const bool has_local_;  // tensors may lie in the device's own memory
  prefix::PrefixIndex index_;
  std::unordered_map<BlockHash, Cached> tensors_;
  std::unordered_map<std::string, std::vector<BlockHash>> pinned_;  // by name
  std::size_t bytes_ = 0;
};

}  // namespace aqua
