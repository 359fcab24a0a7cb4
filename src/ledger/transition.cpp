// SPDX-License-Identifier: Apache-2.0
#include "ledger/transition.hpp"

namespace aqua::ledger {
namespace {

// One cell of the table: what happens when no reclaim wants the slab, and when one does.
struct Cell {
  constexpr Cell(SlabState next) : free{true, next}, wanted{true, next} {}
  constexpr Cell(Code refusal)
      : free{false, SlabState::returned, refusal}, wanted{false, SlabState::returned, refusal} {}
  constexpr Cell(SlabState unwanted_next, SlabState wanted_next)
      : free{true, unwanted_next}, wanted{true, wanted_next} {}
  Outcome free;
  Outcome wanted;
};

using enum SlabState;
constexpr Code exists = Code::already_exists;
constexpr Code refused = Code::failed_precondition;
constexpr Code unknown = Code::not_found;
constexpr Code none = Code::unavailable;

// Rows are in the order of kSlabEvents, columns in that of kSlabStates. `returned` means that there
// is no row. An orphan's producer is no client any more, so all that it says is not_found. No cell
// leads from a held state to `offered` but `scrub`, which the exporter alone may say.
// clang-format off
constexpr Cell kTable[kSlabEvents.size()][kSlabStates.size()] = {
    //                offered   leased       suspect              revoking     orphaned  quarantined          returned
    /*offer*/         {offered,  exists,      exists,              exists,      unknown,  quarantined,         offered},
    /*redeclare*/     {exists,   leased,      suspect,             revoking,    unknown,  exists,              suspect},
    /*withdraw*/      {returned, refused,     refused,             refused,     unknown,  returned,            unknown},
    /*grant*/         {leased,   none,        none,                none,        none,     none,                none},
    /*renew*/         {offered,  leased,      {leased, revoking},  revoking,    orphaned, quarantined,         returned},
    /*silence*/       {offered,  suspect,     suspect,             suspect,     orphaned, quarantined,         returned},
    /*reclaim*/       {returned, revoking,    suspect,             revoking,    unknown,  quarantined,         returned},
    /*give_back*/     {refused,  quarantined, quarantined,         quarantined, returned, refused,             unknown},
    /*holder_dead*/   {offered,  quarantined, quarantined,         quarantined, returned, quarantined,         returned},
    /*producer_dead*/ {returned, orphaned,    orphaned,            orphaned,    unknown,  returned,            returned},
    /*scrub*/         {refused,  offered,     {offered, returned}, returned,    unknown,  {offered, returned}, unknown},
};
// clang-format on

}  // namespace

std::string_view to_string(SlabEvent event) noexcept {
  switch (event) {
    case SlabEvent::offer:
      return "offer";
    case SlabEvent::redeclare:
      return "redeclare";
    case SlabEvent::withdraw:
      return "withdraw";
    case SlabEvent::grant:
      return "grant";
    case SlabEvent::renew:
      return "renew";
    case SlabEvent::silence:
      return "silence";
    case SlabEvent::reclaim:
      return "reclaim";
    case SlabEvent::give_back:
      return "give_back";
    case SlabEvent::holder_dead:
      return "holder_dead";
    case SlabEvent::producer_dead:
      return "producer_dead";
    case SlabEvent::scrub:
      return "scrub";
  }
  return "?";
}

Outcome transition(SlabState state, SlabEvent event, bool wanted) noexcept {
  const Cell& cell = kTable[static_cast<std::size_t>(event)][static_cast<std::size_t>(state)];
  return wanted ? cell.wanted : cell.free;
}

}  // namespace aqua::ledger
