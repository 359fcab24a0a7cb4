// SPDX-License-Identifier: Apache-2.0
// One lender and its borrowers over a real ledger: slabs are offered, leased as they are needed,
// revoked, given back and scrubbed as the coordinator would have it.
//
// Threads: none. Units: bytes of one GPU; virtual time is rounded to the ledger's milliseconds.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "aqua/result.hpp"
#include "ledger/ledger.hpp"
#include "tools/sim/engine/time.hpp"

namespace aqua::sim {

inline constexpr Picos kReclaimPatience = 10 * kPicosPerSecond;  // until a reclaim's deadline

class SlabMarket {
 public:
  // Slabs of `slab_bytes`; scrubbing writes at `scrub_bytes_per_second`.
  SlabMarket(std::uint64_t slab_bytes, double scrub_bytes_per_second, std::size_t borrowers = 1);
  ~SlabMarket();
  SlabMarket(const SlabMarket&) = delete;
  SlabMarket& operator=(const SlabMarket&) = delete;

  // --- the lender --------------------------------------------------------------------------
  // Puts up as many whole slabs as fit into `bytes`; returns what that is.
  double offer(double bytes, Picos now);
  // Wants `bytes` back. What comes back at once is returned; the rest when the borrowers have given
  // it back and it is scrubbed.
  double reclaim(double bytes, Picos deadline, Picos now);
  // Some of it has not come back yet.
  [[nodiscard]] bool reclaiming() const;
  // Offered, with a borrower, or being scrubbed.
  [[nodiscard]] double lent_bytes() const;
  // With a borrower, revoked or not.
  [[nodiscard]] double leased_bytes() const;

  // --- a borrower --------------------------------------------------------------------------
  class Borrower {
   public:
    // Leases until `bytes` are covered, or as far as there are offers.
    void use(double bytes, Picos now);
    // Leased and not revoked.
    [[nodiscard]] double usable_bytes() const noexcept { return usable_; }
    // The same plus what is offered, to others as well.
    [[nodiscard]] double reachable_bytes() const;
    // Revoked slabs go back once the others have room for `bytes`, all there is.
    void settle(double bytes, Picos now);

   private:
    friend class SlabMarket;
    Borrower(SlabMarket& market, ClientId id) : market_(market), id_(id) {}
    void read_events();

    SlabMarket& market_;
    ClientId id_;
    std::uint64_t seen_ = 0;                   // last event read
    std::set<ledger::SlabId> held_, revoked_;  // not revoked and revoked
    double usable_ = 0;
  };
  // It lives as long as the market.
  [[nodiscard]] Borrower& borrower(std::size_t which = 0) { return *borrowers_[which]; }

  // --- time --------------------------------------------------------------------------------
  // When the next slab has been scrubbed.
  [[nodiscard]] Picos next_change() const;
  // Goes on to `now`: scrubs end, revocations are read.
  void advance(Picos now);

  [[nodiscard]] const ledger::Ledger& ledger() const noexcept { return ledger_; }

 private:
  struct Scrub {
    Picos done = 0;
    ledger::SlabId slab;
    ledger::Generation generation = 0;
    friend auto operator<=>(const Scrub&, const Scrub&) = default;
  };
  void read_events();
  void give_back(ClientId borrower, const ledger::SlabId& slab, Picos now);
  [[nodiscard]] std::size_t leased() const;

  std::uint64_t slab_bytes_;
  double scrub_rate_;
  ledger::Ledger ledger_;
  ClientId lender_;
  std::vector<std::unique_ptr<Borrower>> borrowers_;
  std::uint32_t next_index_ = 0;
  std::uint64_t next_secret_ = 0;
  std::set<Scrub> scrubs_;
  Picos scrubber_free_ = 0;
};

}  // namespace aqua::sim
