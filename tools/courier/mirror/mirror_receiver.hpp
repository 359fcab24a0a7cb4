// SPDX-License-Identifier: Apache-2.0
// MirrorReceiver takes in the copies that another courier sends over one connection, for this
// server's keeper to keep, and has it drop them when it is told to. They stay when the connection
// ends, and this process.
//
// A process that has adopted a copy relies on it, such as the successor of an engine that is cut
// off and lives: what that one drops is kept here. A copy that is read may be adopted yet, and is
// dropped once it is not.
//
// Threads: serve() on one, which a signalled stop event ends.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "tools/courier/carry/counters.hpp"
#include "tools/courier/carry/keeper_segments.hpp"
#include "tools/courier/net/link.hpp"

namespace aqua::courier {

class MirrorReceiver {
 public:
  // A link whose MirrorHello was heard, and answered by Welcome. The counters outlive it.
  MirrorReceiver(Link& link, KeeperSegments keeper, Counters& counters, int stop)
      : link_(link), keeper_(std::move(keeper)), counters_(counters), stop_(stop) {}

  // Says what there is, and serves; returns when something goes wrong, with cancelled when it is to
  // stop.
  [[nodiscard]] Result<void> serve();

 private:
  // The copy that is on its way.
  struct Incoming {
    Copy copy{};
    KeeperSegments::Segment segment{};
    std::uint64_t got = 0;  // bytes of it
  };

  [[nodiscard]] Result<void> say_what_is_held();
  [[nodiscard]] Result<void> hear(const Message& message);
  [[nodiscard]] Result<void> hear(const Copy& copy);
  [[nodiscard]] Result<void> hear(const Forget& said);
  [[nodiscard]] Result<void> read(std::size_t bytes);
  [[nodiscard]] Result<void> land();
  [[nodiscard]] Result<void> refuse(std::uint64_t number, const Error& why);
  // Drops those forgotten copies that nobody reads.
  [[nodiscard]] Result<void> drop_forgotten();
  void drop_incoming();

  Link& link_;
  KeeperSegments keeper_;
  Counters& counters_;
  const int stop_;

  std::map<Original, SegmentName> held_;  // what they are called here
  std::vector<SegmentName> forgotten_;    // that are to be dropped, and are read
  std::optional<Incoming> incoming_;
};

}  // namespace aqua::courier
