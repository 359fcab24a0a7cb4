// SPDX-License-Identifier: Apache-2.0
// Links between memories and the flows on them: whoever shares a link shares its bandwidth
// fairly (max-min: nobody gets less than others unless it is bound elsewhere).
//
// A flow waits for its fixed delay (latencies of its copies), then moves bytes at the rate that
// all its links allow. Rates change only when a flow begins or ends to move bytes.
//
// Time:  given by the caller, never decreasing. Rates are doubles; ends are whole picoseconds,
//        rounded up. The same calls give the same ends.
// Units: bytes, bytes per second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/sim/engine/time.hpp"

namespace aqua::sim {

class Actor;

using LinkId = std::size_t;
using FlowId = std::uint64_t;

class Network {
 public:
  // `bytes_per_second` > 0.
  LinkId add_link(std::string name, double bytes_per_second);

  struct Transfer {
    double bytes = 0;
    Picos delay = 0;
    std::vector<LinkId> links{};  // at least one, each once
  };
  // `owner`, who is told by the world when it ends, may be null.
  FlowId start(const Transfer& transfer, Picos now, Actor* owner = nullptr);
  // When the next flow begins to move bytes or ends; kNever without flows.
  [[nodiscard]] Picos next_change() const noexcept { return next_change_; }
  struct Ended {
    FlowId flow = 0;
    Actor* owner = nullptr;
  };
  // Goes on to `now`, at most next_change(). Flows that ended, in the order they were started.
  [[nodiscard]] std::vector<Ended> advance(Picos now);

  [[nodiscard]] bool idle() const noexcept { return flows_.empty(); }
  // Moved over the link until `now`, which is not before the last call.
  [[nodiscard]] double bytes_moved(LinkId link, Picos now) const;
  [[nodiscard]] const std::string& name(LinkId link) const { return links_[link].name; }

 private:
  struct Link {
    std::string name;
    double capacity = 0;
    double moved = 0;  // until settled_
    double rate = 0;   // of all its flows
  };
  struct Flow {
    FlowId id = 0;
    double left = 0;
    Picos begins = 0;  // to move bytes
    double rate = 0;
    Picos ends = kNever;
    std::vector<LinkId> links;
    Actor* owner = nullptr;
  };
  void settle(Picos now);
  void share(Picos now);
  void fill();

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  // share()'s own, kept for their memory: by link the flows that are open, and what is left for
  // them.
  std::vector<std::size_t> waiting_{};
  std::vector<double> free_{};
  std::vector<Flow*> open_{};     // without a rate
  std::vector<LinkId> shared_{};  // that these use
  Picos settled_ = 0;
  Picos next_change_ = kNever;
  FlowId last_ = 0;
};

}  // namespace aqua::sim
