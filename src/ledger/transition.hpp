// SPDX-License-Identifier: Apache-2.0
// The transition table: what each event does to a slab in each state. The same table stands in
// docs/internals/ledger.md, and a test compares the two.
#pragma once

#include <array>
#include <string_view>

#include "aqua/result.hpp"
#include "ledger/types.hpp"

namespace aqua::ledger {

enum class SlabEvent : std::uint8_t {
  offer,          // the exporter puts it up, free
  redeclare,      // the exporter puts it up, held
  withdraw,       // the exporter takes it back
  grant,          // a consumer asks for a slab and this is the only one
  renew,          // a sign of life of the holder
  silence,        // the holder's time to live ran out or its lifeline closed
  reclaim,        // the producer wants it back
  give_back,      // the holder has unmapped it
  holder_dead,    // the holder is proven dead
  producer_dead,  // the producer is proven dead
  scrub,          // the exporter vouches that nobody can touch it and it is clean
};

inline constexpr std::array kSlabStates{
    SlabState::offered,  SlabState::leased,      SlabState::suspect, SlabState::revoking,
    SlabState::orphaned, SlabState::quarantined, SlabState::returned};
inline constexpr std::array kSlabEvents{
    SlabEvent::offer,       SlabEvent::redeclare,     SlabEvent::withdraw, SlabEvent::grant,
    SlabEvent::renew,       SlabEvent::silence,       SlabEvent::reclaim,  SlabEvent::give_back,
    SlabEvent::holder_dead, SlabEvent::producer_dead, SlabEvent::scrub};

[[nodiscard]] std::string_view to_string(SlabEvent event) noexcept;

// The answer of the table: the next state, or why the event is refused and nothing changes.
struct Outcome {
  bool accepted = false;
  SlabState next = SlabState::returned;
  Code refusal = Code::internal;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// Looks an event up in the table. `wanted` when some reclaim wants this slab back.
[[nodiscard]] Outcome transition(SlabState state, SlabEvent event, bool wanted) noexcept;

}  // namespace aqua::ledger
