// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/replica/merge.hpp"

#include <algorithm>
#include <map>

namespace aqua::kv_stream {
namespace {

// How often a pack has been multiplied by `fan`.
unsigned tier_of(std::uint64_t tokens, unsigned fan) {
  unsigned tier = 0;
  for (; tokens >= fan; tokens /= fan) ++tier;
  return tier;
}

// As many of them, in this order, as fit one pack.
std::vector<PackId> that_fit(const std::vector<PackLoad>& packs, std::uint64_t capacity,
                             std::size_t most) {
  std::vector<PackId> chosen;
  std::uint64_t tokens = 0;
  for (const PackLoad& pack : packs) {
    if (chosen.size() == most || tokens + pack.tokens > capacity) break;
    chosen.push_back(pack.pack);
    tokens += pack.tokens;
  }
  if (chosen.size() < 2) chosen.clear();
  return chosen;
}

}  // namespace

std::vector<PackId> packs_to_merge(const std::vector<PackLoad>& packs, std::uint64_t capacity,
                                   unsigned fan) {
  std::map<unsigned, std::vector<PackLoad>> tiers;
  for (const PackLoad& pack : packs) {
    if (pack.tokens > 0 && pack.tokens < capacity / 2)
      tiers[tier_of(pack.tokens, fan)].push_back(pack);
  }
  for (const auto& [tier, all] : tiers) {
    if (all.size() >= fan) return that_fit(all, capacity, fan);
  }
  return {};
}

std::vector<PackId> packs_to_merge_now(const std::vector<PackLoad>& packs, std::uint64_t capacity) {
  std::vector<PackLoad> smallest;
  std::ranges::copy_if(packs, std::back_inserter(smallest),
                       [](const PackLoad& pack) { return pack.tokens > 0; });
  std::ranges::stable_sort(smallest, {}, &PackLoad::tokens);
  return that_fit(smallest, capacity, smallest.size());
}

}  // namespace aqua::kv_stream
