// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/engine/swap_space.hpp"

#include <cassert>

namespace aqua::sim {

Tier SwapSpace::reserve(std::uint64_t key, double bytes, Picos now, Tier wanted) {
  assert(!rows_.contains(key));
  const Tier nearest = tier_for(bytes);
  const Tier tier = wanted == Tier::host ? wanted : nearest;
  take(tier, bytes, now);
  rows_[key] = {.bytes = bytes, .tier = tier, .stays = tier != nearest};
  return tier;
}

void SwapSpace::release(std::uint64_t key, Picos now) {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return;
  give(found->second.tier, found->second.bytes, now);
  if (found->second.moves) give(found->second.to, found->second.bytes, now);
  rows_.erase(found);
}

Tier SwapSpace::tier_for(double bytes) const {
  const bool fits = market_ != nullptr && peer_ + bytes <= market_->reachable_bytes();
  return fits ? Tier::peer : Tier::host;
}

Tier SwapSpace::tier_of(std::uint64_t key) const {
  return rows_.at(key).tier;
}
double SwapSpace::bytes_of(std::uint64_t key) const {
  return rows_.at(key).bytes;
}

void SwapSpace::moving(std::uint64_t key, Tier tier, Picos now) {
  Row& row = rows_.at(key);
  assert(!row.moves && row.tier != tier);
  take(tier, row.bytes, now);
  row.moves = true;
  row.to = tier;
}

void SwapSpace::moved(std::uint64_t key, Picos now) {
  Row& row = rows_.at(key);
  assert(row.moves);
  give(row.tier, row.bytes, now);
  row.tier = row.to;
  row.moves = false;
}

void SwapSpace::take(Tier tier, double bytes, Picos now) {
  if (tier == Tier::host) {
    host_ += bytes;
    return;
  }
  peer_ += bytes;
  market_->use(peer_, now);
}

void SwapSpace::give(Tier tier, double bytes, Picos now) {
  if (tier == Tier::host) {
    host_ -= bytes;
    return;
  }
  peer_ -= bytes;
  market_->settle(peer_, now);
}

}  // namespace aqua::sim
