// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/engine/prefix_store.hpp"

#include <algorithm>

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
  return {.tokens = std::min(tokens, request.prompt_tokens - 1), .tier = match.slowest};
}

void PrefixStore::release(const Workload& workload, const TraceRequest& request,
                          std::uint32_t tokens) {
  const std::uint32_t block = workload.hash_block_tokens;
  const auto chain = prefix_of(workload, request).chain;
  (void)index_.release(
      chain.first(std::min<std::size_t>(chain.size(), (tokens + block - 1) / block)));
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
  for (const prefix::BlockHash& gone : insertion->evicted) {
    if (const auto key = keys_.find(gone); key != keys_.end()) {
      swap.release(key->second, now);
      keys_.erase(key);
    }
  }
  for (const auto& block : prefix.chain.subspan(insertion->first, insertion->blocks)) {
    keys_[block] = next_key_;
    (void)swap.reserve(next_key_++, block_bytes, now);
  }
  return {.bytes = static_cast<double>(insertion->blocks) * block_bytes, .tier = tier};
}

}  // namespace aqua::sim
