// SPDX-License-Identifier: Apache-2.0
#include "aqua/prefix/prefix_cache.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"

// Invariant: outside a call, tensors_ has a tensor for exactly the present blocks of index_. A
// block that is evicted or lost in the index loses its tensor in the same call; a block whose
// tensor cannot be made is lost in the index again. A tensor dropped here outlives the copies
// queued on it.
namespace aqua {

using prefix::BlockHash;
using prefix::Prefix;
using prefix::PrefixMatch;

class PrefixCache::Impl {
 public:
  Impl(Runtime& runtime, const Layout& layout, const PrefixCacheOptions& options,
       prefix::PrefixIndex index)
      : runtime_(detail::Internals::view(runtime)),
        layout_(layout),
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
  const Layout layout_;
  const PrefixCacheOptions options_;
  const bool has_local_;  // tensors may lie in the device's own memory
  prefix::PrefixIndex index_;
  std::unordered_map<BlockHash, Cached> tensors_;
  std::unordered_map<std::string, std::vector<BlockHash>> pinned_;  // by name
  std::size_t bytes_ = 0;
};

Result<PrefixTransfer> PrefixCache::Impl::fetch(const Prefix& prefix, BlockList blocks,
                                                Stream stream) {
  refresh(prefix);
  AQUA_TRY(check("prefix cache: fetch", index_.match(prefix).tokens, blocks));
  PrefixTransfer transfer;
  transfer.match = index_.acquire(prefix);
  const auto held = prefix.chain.first(transfer.match.blocks);
  Result<void> posted;
  for (std::size_t i = 0; i < held.size() && posted.ok(); ++i) {
    auto ticket = runtime_.fetch(tensors_.at(held[i]).tensor, layout_,
                                 part(blocks, i, transfer.match.tokens), stream);
    if (ticket.ok()) {
      transfer.tickets.push_back(std::move(*ticket));
    } else {
      posted = std::move(ticket).error();
    }
  }
  // Releases the blocks at once: a tensor outlives the copies that are queued on it.
  AQUA_TRY(index_.release(held));
  transfer.blocks = transfer.tickets.size();
  if (posted.ok()) return transfer;
  if (posted.error().code != Code::data_loss) return std::move(posted).error();
  lose(held[transfer.blocks]);
  transfer.match = index_.match(
      {held.first(transfer.blocks), transfer.blocks * std::size_t{options_.index.block_tokens}});
  return transfer;
}

// Allocates a tensor, evicting other blocks while there is no room for it: there can be none
// although the index has room. For a discardable one the index chooses, since any block's memory
// will do.
Result<AquaTensor> PrefixCache::Impl::allocate_block(std::size_t bytes, bool keep) {
  for (;;) {
    auto tensor = runtime_.allocate({.bytes = bytes, .name = "prefix", .discardable = !keep});
    if (tensor.ok() || tensor.error().code != Code::resource_exhausted) return tensor;
    if (keep) {
      if (evict_for(false) == 0) return tensor;
      continue;
    }
    const std::size_t capacity = index_.capacity();
    const std::size_t there = index_.blocks();
    const auto evicted = index_.set_capacity(there > 0 ? there - 1 : 0);
    (void)index_.set_capacity(capacity);
    if (evicted.empty()) return tensor;
    discard(evicted);
  }
}

// Evicts for a tensor that found no room, and returns the bytes; 0 when no eviction would help.
// What is short is an exit in host memory. Prefixes that lie there go first, then those elsewhere
// that have an exit. A prefix without one would give no room and stays, unless the tensor is
// discardable itself and can take the prefix's place.
std::size_t PrefixCache::Impl::evict_for(bool discardable) {
  const std::size_t evicted = discard(index_.evict(
      [this](const BlockHash& block) { return tensors_.at(block).tensor.tier() == Tier::host; }));
  if (evicted > 0) return evicted;
  return discard(index_.evict([this, discardable](const BlockHash& block) {
    return discardable || tensors_.at(block).has_exit;
  }));
}

void PrefixCache::Impl::look_at_all() {
  std::vector<BlockHash> lost;
  for (const auto& [block, cached] : tensors_) {
    if (!look_at(block)) lost.push_back(block);
  }
  for (const BlockHash& block : lost) lose(block);
}

// For a better place no more than twice the tensor's bytes go, because memory that its lender is
// taking back gives no room however much is evicted.
Result<AquaTensor> PrefixCache::Impl::allocate_before_prefixes(const TensorOptions& options) {
  std::size_t given_up = 0;  // bytes, for a better place
  std::optional<RuntimeStatus> status;
  for (;;) {
    auto tensor = runtime_.allocate(options);
    if (!tensor.ok() && tensor.error().code != Code::resource_exhausted) return tensor;
    if (tensor.ok() && (options.host_only || tensor->tier() == Tier::local)) return tensor;
    if (tensor.ok() && given_up >= 2 * options.bytes) return tensor;
    const bool may_be_local = has_local_ && !options.off_device;
    if (tensor.ok() && tensor->tier() == Tier::peer && !may_be_local) return tensor;
    if (!status) {  // from here on the cost is that of all tensors
      status = runtime_.status();
      look_at_all();
    }
    if (!tensor.ok()) {
      if (status->host.capacity_bytes < options.bytes) return tensor;
      if (evict_for(options.discardable) == 0) return tensor;
      continue;
    }
    const auto room_of = [&](Tier tier) {
      if (tier == Tier::local && !may_be_local) return std::size_t{0};
      const TierStatus& there = tier == Tier::local ? status->local : status->peer;
      const bool better = tier < tensor->tier() && there.capacity_bytes >= options.bytes;
      return better ? discard(index_.evict(tier)) : std::size_t{0};
    };
    std::size_t evicted = room_of(Tier::peer);
    if (evicted == 0) evicted = room_of(Tier::local);
    if (evicted == 0) return tensor;
    given_up += evicted;
  }
}

Result<PrefixTransfer> PrefixCache::Impl::store(const Prefix& prefix, BlockList blocks,
                                                Stream stream, bool keep) {
  AQUA_TRY(check("prefix cache: store", prefix.tokens, blocks));
  refresh(prefix);
  PrefixTransfer transfer;
  transfer.match = index_.match(prefix);
  AQUA_ASSIGN(const prefix::PrefixInsertion added, index_.insert(prefix, Tier::peer));
  discard(added.evicted);
  // Pins the new blocks, so that making room for one does not evict another.
  const auto mine = prefix.chain.first(added.first + added.blocks);
  AQUA_TRY(index_.pin(mine));
  Result<void> stored;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const bool stays = i < added.first && (!keep || tensors_.at(mine[i]).has_exit);
    if (stays) continue;
    const BlockList list = part(blocks, i, prefix.tokens);
    auto tensor = allocate_block(layout_.packed_bytes(list.size()), keep);
    if (!tensor.ok()) {
      stored = std::move(tensor).error();
    } else if (auto ticket = runtime_.offload(layout_, list, *tensor, stream); !ticket.ok()) {
      stored = std::move(ticket).error();
    } else {
      transfer.tickets.push_back(std::move(*ticket));
      discard({mine[i]});
      bytes_ += tensor->bytes();
      const Tier tier = tensor->tier();
      tensors_.emplace(mine[i], Cached{std::move(*tensor), keep || tier == Tier::host});
      stored = index_.moved(mine[i], tier);
    }
    if (stored.ok()) continue;
    // Takes out the first block without bytes, and those after it, which have none either.
    if (added.blocks > 0) lose(mine[std::max(i, added.first)]);
    break;
  }
  transfer.blocks = transfer.tickets.size();
  AQUA_TRY(index_.unpin(mine));
  if (!stored.ok() && stored.error().code != Code::resource_exhausted) {
    return std::move(stored).error();
  }
  return transfer;
}

Result<void> PrefixTransfer::wait() {
  for (Ticket& ticket : tickets) AQUA_TRY(ticket.wait());
  return {};
}

Result<PrefixCache> PrefixCache::create(Runtime& runtime, const Layout& layout,
                                        const PrefixCacheOptions& options) {
  if (options.engine_block_tokens == 0 ||
      options.index.block_tokens % options.engine_block_tokens != 0) {
    return Error{Code::invalid_argument,
                 concat("prefix cache: index.block_tokens ", options.index.block_tokens,
                        " is no multiple of engine_block_tokens ", options.engine_block_tokens)};
  }
  AQUA_ASSIGN(prefix::PrefixIndex index, prefix::PrefixIndex::create(options.index));
  return PrefixCache(std::make_unique<Impl>(runtime, layout, options, std::move(index)));
}

PrefixCache::PrefixCache(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PrefixCache::~PrefixCache() = default;
PrefixCache::PrefixCache(PrefixCache&&) noexcept = default;
PrefixCache& PrefixCache::operator=(PrefixCache&&) noexcept = default;

PrefixMatch PrefixCache::match(const Prefix& prefix) const {
  return impl_->index_.match(prefix);
}

Result<PrefixTransfer> PrefixCache::fetch(const Prefix& prefix, BlockList blocks, Stream stream) {
  return impl_->fetch(prefix, blocks, stream);
}

Result<PrefixTransfer> PrefixCache::store(const Prefix& prefix, BlockList blocks, Stream stream) {
  return impl_->store(prefix, blocks, stream, false);
}

void PrefixCache::forget(const Prefix& prefix) {
  if (!prefix.chain.empty()) impl_->lose(prefix.chain.front());
}

Result<PrefixTransfer> PrefixCache::store_as(const std::string& id, const Prefix& prefix,
                                             BlockList blocks, Stream stream) {
  AQUA_ASSIGN(PrefixTransfer stored, impl_->store(prefix, blocks, stream, true));
  impl_->unpin(id);
  impl_->index_.name(id, prefix);
  const auto there = prefix.chain.first(impl_->index_.match(prefix).blocks);
  AQUA_TRY(impl_->index_.pin(there));
  impl_->pinned_[id].assign(there.begin(), there.end());
  return stored;
}

Result<PrefixTransfer> PrefixCache::fetch_by(std::string_view id, BlockList blocks, Stream stream) {
  AQUA_ASSIGN(const Prefix prefix, impl_->index_.find(id));
  return impl_->fetch(prefix, blocks, stream);
}

Result<void> PrefixCache::drop(std::string_view id) {
  AQUA_TRY(impl_->index_.unname(id));
  impl_->unpin(id);
  return {};
}

void PrefixCache::set_capacity(std::size_t blocks) {
  impl_->discard(impl_->index_.set_capacity(blocks));
}

Result<AquaTensor> PrefixCache::allocate(const TensorOptions& options) {
  return impl_->allocate_before_prefixes(options);
}

const prefix::PrefixIndex& PrefixCache::index() const noexcept {
  return impl_->index_;
}
std::size_t PrefixCache::bytes() const noexcept {
  return impl_->bytes_;
}

}  // namespace aqua
