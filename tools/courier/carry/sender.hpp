// SPDX-License-Identifier: Apache-2.0
// Sender carries parcels from this server's keeper to another one's. It takes them from its own
// keeper, as a member of the role that they are for, and has them until the other courier says that
// they have ended. Whatever is lost on the way is offered again.
//
//   waiting --Offer--> offered --Go: its bytes--> sent --Landed--> landed --Ended--> finished
//      ^                  | '------Landed, Ended----|----------------^         |
//      |                  | Later, Stale, Refused   | the same                 |
//      '------------------'-------------------------'--------------------------'
//                                                           a connection that was lost
//
// The other side is not believed: what it says out of turn ends the connection, and the parcel is
// offered again over the next one.
//
// Threads: run() on one, which a signalled stop event ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "aqua/handoff/parcel.hpp"
#include "aqua/result.hpp"
#include "tools/courier/carry/counters.hpp"
#include "tools/courier/carry/keeper_side.hpp"
#include "tools/courier/carry/retries.hpp"
#include "tools/courier/carry/route_state.hpp"
#include "tools/courier/net/carrier_talk.hpp"
#include "tools/courier/net/link.hpp"

namespace aqua::courier {

// Parcels of a pool by whoever has one role for whoever has another, to a peer.
struct Route {
  std::string pool{};
  std::string from{};
  std::string to{};
  std::string peer{};         // name in the other courier's certificate
  std::string address{};      // HOST:PORT
  std::uint32_t parcels = 4;  // on the way over one connection, also those not confirmed
  std::uint32_t connections = 1;
  std::chrono::seconds patience = Link::kPatience;  // as Link::greeted()
  CarrierChoice carrier = CarrierChoice::tls;
};

class Sender {
 public:
  // `index` of the route's connections. All that is referred to outlives it.
  Sender(const Route& route, RouteState& state, std::uint32_t index, std::string keeper,
         const MutualTls& identity, Counters& counters, Say say, int stop)
      : route_(route),
        route_state_(state),
        index_(index),
        keeper_path_(std::move(keeper)),
        identity_(identity),
        counters_(counters),
        say_(std::move(say)),
        stop_(stop),
        retries_(stop) {}

  void run();

 private:
  enum class Stage : std::uint8_t { waiting, offered, sent, landed };
  struct Taken {
    Parcel parcel{};
    std::uint64_t offer = 0;       // its latest, on this link
    bool may_have_landed = false;  // over an earlier link
    Stage stage = Stage::waiting;
    std::chrono::steady_clock::time_point not_before{};  // while it waits
    std::chrono::steady_clock::time_point sent_at{};
  };
  using At = std::map<std::uint64_t, Taken>::iterator;

  // Returns when something goes wrong; with cancelled, when it is to stop.
  [[nodiscard]] Result<void> serve();
  [[nodiscard]] Result<void> greet();
  // Takes what there is room for, and drops what is superseded.
  [[nodiscard]] Result<void> hear_keeper();
  // Says what has been cut off since.
  [[nodiscard]] Result<void> tell_cut_off();
  [[nodiscard]] Result<void> offer_next();
  [[nodiscard]] Result<void> wait();
  [[nodiscard]] Result<void> hear(const Message& message);
  // Whether this may be said of it now.
  [[nodiscard]] static bool fits(const Message& message, Stage stage);
  [[nodiscard]] Result<void> send(At taken);
  // Offers it again, in a while.
  [[nodiscard]] Result<void> put_off(At taken, std::chrono::milliseconds by);
  [[nodiscard]] Result<void> renew(At taken, std::uint64_t above);
  [[nodiscard]] Result<void> finish(At taken, ParcelEvent what = ParcelEvent::confirmed);
  // When the next parcel that waits may be offered; never, while another one is under way.
  [[nodiscard]] std::chrono::steady_clock::time_point next_offer() const;
  // When it is to be said that what was sent has landed; never, while nothing was.
  [[nodiscard]] std::chrono::steady_clock::time_point answer_due() const;
  void lose_link();

  const Route& route_;
  RouteState& route_state_;
  const std::uint32_t index_;
  const std::string keeper_path_;
  const MutualTls& identity_;
  Counters& counters_;
  const Say say_;
  const int stop_;

  Retries retries_;
  CarrierHistory carrier_history_{route_.carrier};
  std::map<std::uint64_t, Taken> taken_;  // before keeper_, which gives them back
  std::optional<KeeperSide> keeper_;
  std::optional<Link> link_;
  std::deque<ParcelHead> cut_off_;  // parcels of which the other side does not know
  std::uint64_t last_offer_ = 0;
  bool admitted_ = false;
  bool may_wait_ = true;  // parcels may wait at the keeper
};

}  // namespace aqua::courier
