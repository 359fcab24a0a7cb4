// SPDX-License-Identifier: Apache-2.0
// Repairs moves requests until Mell's properties hold: what its Allocate, Depart and Update do
// event by event, done once an epoch for all that has happened. repairs.cpp says why they end, and
// docs/plan/packing.md what follows from the properties.
//
// Threads: not thread-safe.
#pragma once

#include <functional>

#include "systems/packing/decide/board.hpp"
#include "systems/packing/decide/draft.hpp"
#include "systems/packing/decide/packer_base.hpp"

namespace aqua::packing {

class Repairs {
 public:
  using Place = std::function<Choice(const Request&, const Engine*)>;
  Repairs(Fleet& fleet, Board& board, Draft& draft, Place place)
      : fleet_(fleet), board_(board), draft_(draft), place_(std::move(place)) {}

  // Until the properties hold, `enough` says so, or the plan may move no more. A repair that needs
  // more moves than are left is begun, and goes on in the next plan.
  void run(const std::function<bool()>& enough);

 private:
  // One move, and what gives way to it; false when there is none to make. True, too, when the
  // plan's limit cut it short after some had given way.
  [[nodiscard]] bool pair_large();
  [[nodiscard]] bool fill_medium();
  [[nodiscard]] bool fill_small();
  [[nodiscard]] bool share_holes();
  [[nodiscard]] bool fill_gap();
  [[nodiscard]] bool fill_tiny();
  [[nodiscard]] bool admit(Request& request, Engine& to, std::uint64_t most_guest, Reason reason);
  [[nodiscard]] Engine* hole_for(const Board::Rooms& holes, const Request& request,
                                 const Engine& from);

  Fleet& fleet_;
  Board& board_;
  Draft& draft_;
  const Place place_;
  bool cut_short_ = false;
};

}  // namespace aqua::packing
