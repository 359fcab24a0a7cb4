// SPDX-License-Identifier: Apache-2.0
// Where an engine's swapped sequences lie: in slabs that the ledger has granted of a neighbour's
// memory, in host DRAM otherwise. The ledger is the coordinator's own (src/ledger).
//
// Sequences are placed whole: with the peer if its leased slabs have room (more are leased when
// not), else on the host. After a revocation the engine moves sequences off until what is left
// fits, and the slabs go back as soon as they are empty.
//
// Threads: none. Units: bytes of one GPU's share. Time to live is not simulated: nobody dies.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "aqua/types.hpp"
#include "tools/sim/engine/slab_market.hpp"
#include "tools/sim/engine/time.hpp"

namespace aqua::sim {

class SwapSpace {
 public:
  // `market` may be null: host only. It outlives this.
  explicit SwapSpace(SlabMarket::Borrower* market) : market_(market) {}

  // Takes room for `bytes` under `key` (a sequence), which has none, and says where: with the peer
  // only where `wanted` says so. What is wanted on the host although the peer has room stays there.
  // Never fails: the host has room.
  Tier reserve(std::uint64_t key, double bytes, Picos now, Tier wanted = Tier::peer);
  // Gives it back; no effect on a key that has none.
  void release(std::uint64_t key, Picos now);
  // Where `bytes` more would go.
  [[nodiscard]] Tier tier_for(double bytes) const;
  [[nodiscard]] Tier tier_of(std::uint64_t key) const;
  [[nodiscard]] double bytes_of(std::uint64_t key) const;
  [[nodiscard]] bool holds(std::uint64_t key) const { return rows_.contains(key); }

  // There is more with the peer than it lends.
  [[nodiscard]] bool over() const { return market_ != nullptr && peer_ > market_->usable_bytes(); }
  // Who has to leave the peer so that revoked slabs can go back, and may: `busy` ones (a copy of
  // them is under way) stay for now. Oldest keys first.
  template <typename Busy>
  [[nodiscard]] std::vector<std::uint64_t> to_evacuate(Busy busy) const;
  // Who can move up from the host now that there is room.
  template <typename Busy>
  [[nodiscard]] std::vector<std::uint64_t> to_promote(Busy busy) const;
  // Revoked slabs that nobody needs go back.
  void settle(Picos now) {
    if (market_ != nullptr) market_->settle(peer_, now);
  }
  // Its bytes are on the way to `tier`: it takes room there as well until moved().
  void moving(std::uint64_t key, Tier tier, Picos now);
  void moved(std::uint64_t key, Picos now);

  [[nodiscard]] double peer_bytes() const noexcept { return peer_; }
  [[nodiscard]] double host_bytes() const noexcept { return host_; }

 private:
  struct Row {
    double bytes = 0;
    Tier tier = Tier::host;
    bool moves = false;
    Tier to = Tier::host;
    bool stays = false;  // on the host, by choice
  };
  void take(Tier tier, double bytes, Picos now);
  void give(Tier tier, double bytes, Picos now);

  SlabMarket::Borrower* market_;
  std::map<std::uint64_t, Row> rows_;
  double peer_ = 0;  // used of the leased slabs
  double host_ = 0;
};

template <typename Busy>
std::vector<std::uint64_t> SwapSpace::to_evacuate(Busy busy) const {
  std::vector<std::uint64_t> keys;
  if (market_ == nullptr) return keys;
  double over = peer_ - market_->usable_bytes();
  for (const auto& [key, row] : rows_) {
    if (row.moves && row.tier == Tier::peer) over -= row.bytes;
  }
  for (const auto& [key, row] : rows_) {
    if (over <= 0) break;
    if (row.tier != Tier::peer || row.moves || busy(key)) continue;
    keys.push_back(key);
    over -= row.bytes;
  }
  return keys;
}

template <typename Busy>
std::vector<std::uint64_t> SwapSpace::to_promote(Busy busy) const {
  std::vector<std::uint64_t> keys;
  if (market_ == nullptr || host_ <= 0) return keys;
  double room = market_->reachable_bytes() - peer_;
  for (const auto& [key, row] : rows_) {
    if (row.tier != Tier::host || row.moves || row.stays) continue;
    if (busy(key) || row.bytes > room) continue;
    keys.push_back(key);
    room -= row.bytes;
  }
  return keys;
}

}  // namespace aqua::sim
