// SPDX-License-Identifier: Apache-2.0
#include "aqua/migration/destination.hpp"

#include "base/concat.hpp"
#include "systems/migration/decide/tables.hpp"

namespace aqua::migration {
namespace {

// By state, room to speaking.
DestinationStep pick(DestinationState state, const DestinationStep (&row)[4]) {
  return row[static_cast<std::size_t>(state)];
}

}  // namespace

DestinationStep step(DestinationState state, DestinationEvent event, bool /*otherwise*/) {
  using S = DestinationState;
  using C = DestinationCommand;
  constexpr DestinationStep kNotDue{};
  if (state == S::freed) {  // late, but for the router that asks whether it has all
    if (event == DestinationEvent::source_died) return {S::freed, {C::report}};
    return {S::freed};
  }
  switch (event) {
    case DestinationEvent::told:
      return pick(state, {{S::room, {C::prefill}}, kNotDue, kNotDue, kNotDue});
    case DestinationEvent::caught_up:
      return pick(state, {{S::room, {C::tell}}, {S::landing}, kNotDue, kNotDue});
    case DestinationEvent::closed:
      return pick(state, {{S::landing, {C::land}}, kNotDue, kNotDue, kNotDue});
    case DestinationEvent::landed:
      return pick(state, {kNotDue, {S::ready, {C::confirm}}, kNotDue, kNotDue});
    case DestinationEvent::failed:
      return pick(state, {{S::freed, {C::free, C::report}},
                          {S::freed, {C::free, C::report}},
                          {S::freed, {C::free, C::report}},
                          kNotDue});
    case DestinationEvent::granted:
      return pick(state, {kNotDue, kNotDue, {S::speaking, {C::speak}}, {S::speaking}});
    case DestinationEvent::denied:
    case DestinationEvent::cancelled:
      return {S::freed, {C::free}};
    case DestinationEvent::withdrawn:
      return pick(state, {{S::freed, {C::free}}, {S::landing}, {S::ready}, {S::speaking}});
    case DestinationEvent::source_died:
      return pick(state,
                  {{S::freed, {C::free, C::report}}, {S::landing}, {S::ready}, {S::speaking}});
    case DestinationEvent::router_died:
      return pick(state, {{S::room}, {S::landing}, {S::ready, {C::confirm}}, {S::speaking}});
    case DestinationEvent::timed_out:
      return pick(state,
                  {{S::freed, {C::free, C::report}}, {S::landing}, {S::ready}, {S::speaking}});
  }
  return kNotDue;
}

Result<std::vector<DestinationCommand>> DestinationMove::on(DestinationEvent event) {
  const DestinationStep done = step(state_, event, false);
  if (!done.due()) {
    return Error{
        Code::failed_precondition,
        concat("move: ", to_string(event), " while the destination is ", to_string(state_))};
  }
  state_ = done.next();
  return std::vector<DestinationCommand>(done.begin(), done.end());
}

std::string_view to_string(DestinationState state) noexcept {
  constexpr std::string_view kNames[] = {"room", "landing", "ready", "speaking", "freed"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view to_string(DestinationEvent event) noexcept {
  constexpr std::string_view kNames[] = {"told",        "caught_up",   "closed",    "landed",
                                         "failed",      "granted",     "denied",    "withdrawn",
                                         "source_died", "router_died", "cancelled", "timed_out"};
  return kNames[static_cast<std::size_t>(event)];
}

std::string_view to_string(DestinationCommand command) noexcept {
  constexpr std::string_view kNames[] = {"prefill", "tell", "land",  "confirm",
                                         "speak",   "free", "report"};
  return kNames[static_cast<std::size_t>(command)];
}

}  // namespace aqua::migration
