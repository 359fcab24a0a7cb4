// SPDX-License-Identifier: Apache-2.0
// What stands behind PrefixCache. prefix_cache.cpp moves blocks, prefix_room.cpp makes room for
// tensors, prefix_kept.cpp brings back blocks that the keeper alone has, by KeptPrefixes.
//
// Invariant: outside a call, tensors_ has an entry for exactly the present blocks of index_: a
// tensor, or none where the block's bytes are with the keeper alone. A block that is evicted or
// lost in the index loses its tensor and its copy in the same call; a block whose tensor cannot be
// made is lost in the index again. A tensor dropped here outlives the copies queued on it.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aqua/prefix/prefix_cache.hpp"
#include "base/concat.hpp"
#include "base/internals.hpp"
#include "systems/prefix/act/kept_prefixes.hpp"

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

  // `layout`: how the engine's cache lies, where that is known (shape_of()).
  [[nodiscard]] static Result<PrefixCache> create(Runtime& runtime, const PrefixCopies& copies,
                                                  const PrefixCacheOptions& options,
                                                  std::string layout);

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
  // A present block, out of its tensor, which is made where the keeper alone has it.
  [[nodiscard]] Result<Ticket> fetch_block(const BlockHash& block, BlockList to, Stream stream);
  // With `keep` the new tensors are not discardable, and blocks that are there without an exit are
  // stored anew.
  [[nodiscard]] Result<PrefixTransfer> store(const Prefix& prefix, BlockList blocks, Stream stream,
                                             bool keep);
  [[nodiscard]] Result<AquaTensor> allocate_block(std::size_t bytes, bool keep);
  [[nodiscard]] Result<AquaTensor> allocate_before_prefixes(const TensorOptions& options);
  std::size_t evict_for(bool discardable);
  // prefix_kept.cpp
  // How the layout's blocks lie, as a part of a shape's text.
  [[nodiscard]] static std::string shape_of(const Layout& layout);
  [[nodiscard]] Result<void> keep(const PrefixKeeping& keeping, std::string layout);
  // Makes a tensor of a block that the keeper alone has, behind the work on `stream`.
  //   resource_exhausted, unavailable   it stays where it is, and can be brought another time
  //   not_found                         it is not there either
  [[nodiscard]] Result<Ticket> bring(const BlockHash& block, Stream stream);
  bool write_behind(std::chrono::milliseconds patience);
  // Frees what the index has evicted; returns its bytes.
  std::size_t discard(const std::vector<BlockHash>& blocks) {
    const std::size_t before = bytes_;
    for (const BlockHash& block : blocks) {
      const auto found = tensors_.find(block);
      if (found == tensors_.end()) continue;
      free_tensor(found->second);
      tensors_.erase(found);
      if (kept_) kept_->drop(block);
    }
    return before - bytes_;
  }
  // Tells the index where a present block is: tensors move on their own, and where one has lost its
  // bytes the keeper may have them. False when they are lost.
  [[nodiscard]] bool look_at(const BlockHash& block) {
    Cached& cached = tensors_.at(block);
    if (cached.has_bytes()) {
      const Tier tier = cached.tensor.tier();
      cached.has_exit |= tier == Tier::host;
      return index_.moved(block, tier).ok();
    }
    if (!kept_ || !kept_->has(block)) return false;
    free_tensor(cached);
    (void)kept_->ready(block);  // or is soon
    return index_.moved(block, Tier::host).ok();
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
    [[nodiscard]] bool has_bytes() const { return tensor.valid() && !tensor.lost(); }
    AquaTensor tensor{};  // none: the keeper alone has the bytes
    // Owns a range of host memory for as long as it lives: it was made with one, or was seen to lie
    // there.
    bool has_exit = false;
  };

  // A present block has this tensor now, in place of the one it had.
  [[nodiscard]] Result<void> put(const BlockHash& block, AquaTensor tensor, bool has_exit) {
    Cached& cached = tensors_[block];
    free_tensor(cached);
    bytes_ += tensor.bytes();
    const Tier tier = tensor.tier();
    cached = {std::move(tensor), has_exit || tier == Tier::host};
    return index_.moved(block, tier);
  }
  void free_tensor(Cached& cached) {
    if (!cached.tensor.valid()) return;
    bytes_ -= cached.tensor.bytes();
    cached = {};
  }

  Runtime runtime_;  // a view of the caller's, which may move his
  const PrefixCopies copies_;
  const PrefixCacheOptions options_;
  const bool has_local_;  // tensors may lie in the device's own memory
  prefix::PrefixIndex index_;
  std::unordered_map<BlockHash, Cached> tensors_;
  std::unordered_map<std::string, std::vector<BlockHash>> pinned_;  // by name
  std::size_t bytes_ = 0;
  std::unique_ptr<KeptPrefixes> kept_;  // null: none is asked for
};

}  // namespace aqua
