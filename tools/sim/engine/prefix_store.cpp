// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/engine/prefix_store.hpp"

#include <algorithm>
#include <utility>

namespace aqua::sim {

prefix::Prefix PrefixStore::prefix_of(const Workload& workload, const TraceRequest& request) {
  const auto chain = std::span(workload.hashes).subspan(request.hash_begin, request.hash_count);
  const std::size_t whole = chain.size() * std::size_t{workload.hash_block_tokens};
  return {.chain = chain, .tokens = std::min<std::size_t>(whole, request.prompt_tokens)};
}

PrefixStore::Hit PrefixStore::acquire(const Workload& workload, const TraceRequest& request) {
  if (request.hash_count == 0) return {};
  const prefix::PrefixMatch match = index_.acquire(prefix_of(workload, request));
  const auto tokens = static_cast<std::uint32_t>(match.tokens);
  Hit hit{.tokens = std::min(tokens, request.prompt_tokens - 1),
          .blocks = match.blocks,
          .tier = match.slowest};
  if (hit.tokens == 0) release(workload, request, std::exchange(hit.blocks, 0));
  return hit;
}

void PrefixStore::release(const Workload& workload, const TraceRequest& request,
                          std::size_t blocks) {
  (void)index_.release(prefix_of(workload, request).chain.first(blocks));
}

PrefixStore::Stored PrefixStore::store(const Workload& workload, const TraceRequest& request,
                                       SwapSpace& swap, Picos now) {
  if (request.hash_count == 0) return {};
  const prefix::Prefix prefix = prefix_of(workload, request);
  const double block_bytes = bytes_per_token_ * workload.hash_block_tokens;
  const std::size_t missing = prefix.chain.size() - index_.match(prefix).blocks;
  if (missing == 0) return {};
  const Tier tier = swap.tier_for(static_cast<double>(missing) * block_bytes);
  const auto insertion = index_.insert(prefix, tier);
  if (!insertion.ok()) return {};
  free(insertion->evicted, swap, now);
  for (const auto& block : prefix.chain.subspan(insertion->first, insertion->blocks)) {
    const Tier at = swap.reserve(next_key_, block_bytes, now, tier);
    places_[block] = {next_key_++, at};
    with_peer_ += at == Tier::peer ? 1U : 0U;
  }
  return {.bytes = static_cast<double>(insertion->blocks) * block_bytes, .tier = tier};
}

void PrefixStore::free(std::span<const prefix::BlockHash> gone, SwapSpace& swap, Picos now) {
  for (const prefix::BlockHash& block : gone) {
    const auto found = places_.find(block);
    if (found == places_.end()) continue;
    swap.release(found->second.key, now);
    with_peer_ -= found->second.tier == Tier::peer ? 1U : 0U;
    places_.erase(found);
  }
}

void PrefixStore::make_room(double bytes, SwapSpace& swap, Picos now) {
  while (swap.tier_for(bytes) != Tier::peer) {
    const std::vector<prefix::BlockHash> gone = index_.evict(Tier::peer);
    if (gone.empty()) return;
    free(gone, swap, now);
  }
}

}  // namespace aqua::sim
