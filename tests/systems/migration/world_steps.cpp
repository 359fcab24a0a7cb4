// SPDX-License-Identifier: Apache-2.0
// What may happen next in a world.
#include <algorithm>

#include "tests/systems/migration/world.hpp"

namespace aqua::migration::test {

template <typename Change>
void World::add(std::vector<World>& worlds, Change change) const {
  worlds.push_back(*this);
  World& next = worlds.back();
  change(next);
  next.look();
}

std::optional<World> World::after_too_long() const {
  if (!leaves || leaves->over()) return std::nullopt;
  World next = *this;
  next.source_event(SourceEvent::timed_out);
  next.look();
  return next;
}

std::vector<World> World::steps() const {
  std::vector<World> all;
  const auto may = [&](bool possible, auto change) {
    if (possible) add(all, change);
  };
  constexpr std::size_t kOnTheWay = 2;
  // The engines.
  may(source.speaks && !held && source.sent.size() < kOnTheWay,
      [](World& w) { w.generate(w.source); });
  may(destination.speaks && destination.sent.size() < kOnTheWay,
      [](World& w) { w.generate(w.destination); });
  may(other.speaks && other.sent.size() < kOnTheWay, [](World& w) { w.generate(w.other); });
  may(source.present && hold_asked && !held, [](World& w) {
    w.held = true;
    w.source_event(SourceEvent::held);
  });
  may(source_alive && copies > 0, [](World& w) {
    w.copies -= 1;
    w.source_event(SourceEvent::copied);
  });
  const bool answers = asked_for_room && source_alive && destination_alive;
  may(answers, [](World& w) {
    w.asked_for_room = false;
    w.parcel = Parcel::open;
    w.comes.emplace();
    w.destination.present = true;
    w.source_event(SourceEvent::reserved);
  });
  may(answers, [](World& w) {
    w.asked_for_room = false;
    w.source_event(SourceEvent::refused);
  });
  may(source_alive && parcel == Parcel::closing, [](World& w) {
    w.parcel = Parcel::closed;
    w.to_source.insert(w.to_source.begin(), ToSource{SourceEvent::closed});
  });
  // What a source says comes in its order: the note behind the ids that were told.
  const bool told = std::ranges::any_of(
      to_destination, [](const ToDestination& one) { return one.what == DestinationEvent::told; });
  may(destination_alive && parcel == Parcel::closed && comes &&
          comes->state() == DestinationState::room && !told,
      [](World& w) {
        w.parcel = Parcel::taken;
        w.destination_event(DestinationEvent::closed);
      });
  may(computing > 0, [](World& w) {
    w.computing -= 1;
    w.destination_event(DestinationEvent::caught_up);
  });
  const bool lands = comes && comes->state() == DestinationState::landing && computing == 0;
  may(lands, [](World& w) { w.destination_event(DestinationEvent::landed); });
  may(comes && !comes->over() && budget.failures > 0, [](World& w) {
    w.budget.failures -= 1;
    w.destination_event(DestinationEvent::failed);
  });
  // Messages.
  may(!to_source.empty() && leaves, [](World& w) { w.deliver_to_source(); });
  may(!to_destination.empty(), [](World& w) { w.deliver_to_destination(); });
  may(!from_source.empty(), [](World& w) { w.router_event(take(w.from_source).what); });
  may(!from_destination.empty(), [](World& w) {
    const ToRouter message = take(w.from_destination);
    w.router_event(message.what, message.position);
  });
  for (Speaker World::*who : {&World::source, &World::destination, &World::other}) {
    may(!(this->*who).sent.empty(), [&](World& w) { w.arrive(w.*who); });
  }
  // Faults.
  may(client && budget.cancels > 0, [](World& w) {
    w.budget.cancels -= 1;
    w.client = false;
    w.router_event(RouterEvent::cancelled);
    w.other = {};
  });
  may(router_alive && budget.timeouts > 0, [](World& w) {
    w.budget.timeouts -= 1;
    w.router_event(RouterEvent::timed_out);
  });
  may(comes && !comes->over() && budget.timeouts > 0, [](World& w) {
    w.budget.timeouts -= 1;
    w.destination_event(DestinationEvent::timed_out);
  });
  // The source computes it again. Once it is held it is so until it is told who speaks. What is
  // crossing then is complete or, half of it being gone, never closed.
  for (const bool cuts : {false, true}) {
    may(leaves && !leaves->over() && budget.losses > 0 && (!cuts || parcel == Parcel::closing),
        [cuts](World& w) {
          w.budget.losses -= 1;
          if (!w.held) w.hold_asked = false;
          if (cuts) w.parcel = Parcel::none;
          w.source_event(SourceEvent::lost);
        });
  }
  may(budget.suspicions > 0 && source.present, [](World& w) {
    w.budget.suspicions -= 1;
    w.from_source.push_back({RouterEvent::source_died});
  });
  may(budget.deaths > 0 && router_alive, [](World& w) {
    w.budget.deaths -= 1;
    w.router_dies();
  });
  // What a dead process has sent may still arrive, before or after the news of its death.
  may(budget.deaths > 0 && source_alive, [](World& w) {
    w.budget.deaths -= 1;
    w.source_alive = w.asked_for_room = w.hold_asked = w.held = false;
    w.source.present = w.source.speaks = false;
    w.leaves.reset();
    w.to_source.clear();
    w.copies = 0;
    if (w.parcel == Parcel::open || w.parcel == Parcel::closing) w.parcel = Parcel::none;
    w.from_source.insert(w.from_source.begin(), ToRouter{RouterEvent::source_died});
  });
  may(budget.deaths > 0 && destination_alive, [](World& w) {
    w.budget.deaths -= 1;
    w.destination_alive = false;
    w.destination.present = w.destination.speaks = false;
    if (w.asked_for_room) w.asked_for_room = false;
    w.comes.reset();
    w.computing = 0;
    w.to_destination.clear();
    if (w.parcel == Parcel::taken) w.parcel = Parcel::closed;
    w.from_destination.insert(w.from_destination.begin(), ToRouter{RouterEvent::destination_died});
  });
  return all;
}

}  // namespace aqua::migration::test
