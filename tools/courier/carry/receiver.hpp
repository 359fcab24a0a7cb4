// SPDX-License-Identifier: Apache-2.0
// Receiver takes in what another courier sends over one connection: it gives each parcel to this
// server's keeper, as a member of the role that its giver has, and says when it has ended there.
//
// Threads: serve() on one, which a signalled stop event ends.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "aqua/result.hpp"
#include "tools/courier/carry/counters.hpp"
#include "tools/courier/carry/keeper_side.hpp"
#include "tools/courier/net/link.hpp"

namespace aqua::courier {

class Receiver {
 public:
  // A link whose Hello was heard, and answered by Welcome. The counters outlive it.
  Receiver(Link& link, KeeperSide keeper, Hello hello, Counters& counters, int stop)
      : link_(link),
        keeper_(std::move(keeper)),
        hello_(std::move(hello)),
        counters_(counters),
        stop_(stop) {}

  // Returns when something goes wrong, with cancelled when it is to stop.
  [[nodiscard]] Result<void> serve();

 private:
  // The parcel that is on its way.
  struct Incoming {
    std::uint64_t offer = 0;
    Parcel parcel{};              // as it was offered
    std::uint64_t at_keeper = 0;  // its number here
    std::optional<KeeperSegments::Segment> segment{};
    std::uint64_t got = 0;  // bytes of it
  };

  [[nodiscard]] Result<void> hear(const Message& message);
  [[nodiscard]] Result<void> hear(const Offer& offer);
  [[nodiscard]] Result<void> hear(const Withdraw& said);
  [[nodiscard]] Result<void> hear(const CutOff& said);
  [[nodiscard]] Result<void> hear_keeper();
  [[nodiscard]] Result<void> hear(const ParcelNews& news);
  // There is room for it.
  [[nodiscard]] Result<void> begin();
  [[nodiscard]] Result<void> read(std::size_t bytes);
  // All of its bytes are here: gives it to the keeper.
  [[nodiscard]] Result<void> land();
  // Gives up the parcel that is on its way, and says why: its sender offers it again later.
  [[nodiscard]] Result<void> refuse(const Error& why);
  void drop_incoming();

  Link& link_;
  KeeperSide keeper_;
  const Hello hello_;
  Counters& counters_;
  const int stop_;

  std::optional<Incoming> incoming_;
  std::map<std::uint64_t, std::uint64_t> landed_;  // numbers here, and of offers
};

}  // namespace aqua::courier
