// SPDX-License-Identifier: Apache-2.0
// MirrorSender gives another server's keeper copies of what this server's keeps for no parcel, such
// as replicas of KV, and has it drop them when they are dropped here. The other side is not
// believed: what it says out of turn ends the connection, and the copy is offered again over the
// next one.
//
// Threads: run() on one, which a signalled stop event ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "aqua/result.hpp"
#include "tools/courier/carry/counters.hpp"
#include "tools/courier/carry/keeper_segments.hpp"
#include "tools/courier/carry/retries.hpp"
#include "tools/courier/carry/route_state.hpp"
#include "tools/courier/mirror/mirror_plan.hpp"
#include "tools/courier/net/carrier_talk.hpp"
#include "tools/courier/net/link.hpp"

namespace aqua::courier {

// Another server whose keeper gets copies.
struct Mirror {
  std::string peer{};                               // name in the other courier's certificate
  std::string address{};                            // HOST:PORT
  std::chrono::seconds patience = Link::kPatience;  // as Link::greeted()
  CarrierChoice carrier = CarrierChoice::tls;
};

class MirrorSender {
 public:
  // All that is referred to outlives it.
  MirrorSender(const Mirror& mirror, RouteState& state, std::string keeper,
               const MutualTls& identity, Counters& counters, Say say, int stop)
      : mirror_(mirror),
        state_(state),
        keeper_path_(std::move(keeper)),
        identity_(identity),
        counters_(counters),
        say_(std::move(say)),
        stop_(stop),
        retries_(stop) {}

  void run();

 private:
  // Returns when something goes wrong; with cancelled, when it is to stop.
  [[nodiscard]] Result<void> serve();
  [[nodiscard]] Result<void> greet();
  // What our keeper keeps now.
  [[nodiscard]] Result<void> hear_keeper();
  [[nodiscard]] Result<void> say_next();
  [[nodiscard]] Result<void> wait();
  [[nodiscard]] Result<void> hear(const Message& message);
  [[nodiscard]] Result<void> offer(const SegmentName& name);
  // It is with the other side, or is not to go there now.
  [[nodiscard]] Result<void> let_go_of_offered();

  const Mirror& mirror_;
  RouteState& state_;
  const std::string keeper_path_;
  const MutualTls& identity_;
  Counters& counters_;
  const Say say_;
  const int stop_;

  Retries retries_;
  CarrierHistory carrier_history_{mirror_.carrier};
  std::optional<KeeperSegments> keeper_;
  std::optional<MirrorPlan> plan_;  // of this keeper
  std::optional<Link> link_;
  // What is offered or sent. It is read until then, so that it stays, dropped or not.
  struct Offered {
    SegmentName name;
    MappedFile memory;
    std::chrono::steady_clock::time_point at{};  // since when an answer is due
    bool sent = false;                           // its bytes
  };
  std::optional<Offered> offered_;
  std::uint64_t offer_ = 0;
  std::optional<std::chrono::steady_clock::time_point> retry_at_;  // there was no room
  bool said_full_ = false;                                         // since the last that landed
  bool news_ = false;  // something may have changed at the keeper
};

}  // namespace aqua::courier
