// SPDX-License-Identifier: Apache-2.0
// PrefixCache: room for its tensors and for those of preempted sequences, to which prefixes give
// way.
#include <optional>

#include "systems/prefix/act/prefix_cache_impl.hpp"

namespace aqua {

// Allocates a tensor, evicting other blocks while there is no room for it: there can be none
// although the index has room. For a discardable one the index chooses, since any block's memory
// will do.
Result<AquaTensor> PrefixCache::Impl::allocate_block(std::size_t bytes, bool keep) {
  for (;;) {
    auto tensor = runtime_.allocate({.bytes = bytes, .name = "prefix", .discardable = !keep});
    if (tensor.ok() || tensor.error().code != Code::resource_exhausted) return tensor;
    // Where the keeper has blocks that have no tensor, those are not evicted in vain.
    if (keep || kept_) {
      if (evict_for(!keep) == 0) return tensor;
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
  const std::size_t evicted = discard(index_.evict([this](const BlockHash& block) {
    const AquaTensor& tensor = tensors_.at(block).tensor;
    return tensor.valid() && tensor.tier() == Tier::host;
  }));
  if (evicted > 0) return evicted;
  return discard(index_.evict([this, discardable](const BlockHash& block) {
    const Cached& cached = tensors_.at(block);
    return cached.has_exit || (discardable && cached.tensor.valid());
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

}  // namespace aqua
