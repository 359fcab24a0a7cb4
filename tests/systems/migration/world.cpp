// SPDX-License-Identifier: Apache-2.0
#include "tests/systems/migration/world.hpp"

#include <algorithm>
#include <sstream>

namespace aqua::migration::test {
EventsTold& events_told() {
  static EventsTold told;
  return told;
}

World::World(Kind by, const Budget& allowed)
    : budget(allowed),
      kind(by),
      source{.present = true, .speaks = true, .turn = 1, .known = 1, .next = 0},
      leaves(SourceMove::begin(
                 {.prompt_tokens = kPrompt, .computed_tokens = kPrompt, .generated_tokens = 1},
                 {.kind = by, .room_tokens = allowed.room, .block_tokens = 2, .little_tokens = 0})
                 .value()) {}

// --- what the machines order --------------------------------------------------------------------

void World::source_event(SourceEvent event) {
  if (!leaves) return;
  events_told().source.insert(event);
  const auto orders = leaves->on(event, source_tokens());
  if (!orders.ok()) {
    broken = orders.error().message;
    return;
  }
  carry_out(*orders, event == SourceEvent::held);
}

// By tokens ids are told; the rest of them crosses with the note.
void World::carry_out(const std::vector<SourceOrder>& orders, bool is_the_rest) {
  for (const SourceOrder& order : orders) {
    switch (order.what) {
      case SourceCommand::copy:
        if (order.range.first + order.range.count > budget.room) broken = "it outgrows its room";
        if (kind == Kind::kv) {
          copies += 1;
        } else if (!is_the_rest && destination_alive) {
          to_destination.push_back({DestinationEvent::told});
        }
        break;
      case SourceCommand::hold:
        hold_asked = true;
        break;
      case SourceCommand::close:
        parcel = Parcel::closing;
        handed = source.known;
        if (source_tokens() > budget.room) broken = "it is handed over and outgrows its room";
        break;
      case SourceCommand::withdraw:
        asked_for_room = false;
        if (parcel != Parcel::taken) {
          parcel = Parcel::none;
          if (destination_alive) to_destination.push_back({DestinationEvent::withdrawn});
        }
        break;
      case SourceCommand::release:
        hold_asked = held = false;
        break;
      case SourceCommand::ask:
        from_source.push_back({RouterEvent::asked});
        break;
      case SourceCommand::free:
        source.present = source.speaks = false;
        break;
      case SourceCommand::report:
        from_source.push_back({RouterEvent::reported});
        break;
    }
  }
}

void World::destination_event(DestinationEvent event, Turn turn, Position from) {
  // An engine that does not know the move has nothing of it.
  if (!comes && event == DestinationEvent::source_died) {
    from_destination.push_back({RouterEvent::failed});
  }
  if (!comes) return;
  events_told().destination.insert(event);
  const bool spoke = comes->state() == DestinationState::speaking;
  const auto orders = comes->on(event);
  if (!orders.ok()) {
    broken = orders.error().message;
    return;
  }
  for (const DestinationCommand order : *orders) {
    switch (order) {
      case DestinationCommand::confirm:
        from_destination.push_back({RouterEvent::confirmed, handed});
        break;
      case DestinationCommand::speak:
        if (from > handed) broken = "it is to speak from behind what it has";
        destination.speaks = true;
        destination.turn = turn;
        destination.known = handed;
        destination.next = from;
        break;
      case DestinationCommand::free:
        destination.present = destination.speaks = false;
        computing = 0;
        // What has crossed to it goes, be it taken or not.
        if (parcel == Parcel::closed || parcel == Parcel::taken) parcel = Parcel::none;
        break;
      case DestinationCommand::report:
        from_destination.push_back({RouterEvent::failed});
        break;
      case DestinationCommand::prefill:
        computing += 1;
        break;
      case DestinationCommand::tell:
        if (source_alive) to_source.push_back({SourceEvent::copied});
        break;
      case DestinationCommand::land:
        break;
    }
  }
  if (!spoke && comes->state() == DestinationState::speaking) parcel = Parcel::none;  // finished
}

void World::router_event(RouterEvent event, Position position) {
  events_told().router.insert(event);
  const auto orders = routes.on(event, stream, position);
  if (!orders.ok()) {
    broken = orders.error().message;
    return;
  }
  for (const RouterOrder& order : *orders) {
    const auto source_gets = [&](SourceEvent what) {
      if (source_alive) to_source.push_back({what, order.turn, order.from});
    };
    const auto destination_gets = [&](DestinationEvent what) {
      if (destination_alive) to_destination.push_back({what, order.turn, order.from});
    };
    switch (order.what) {
      case RouterCommand::grant:
        destination_gets(DestinationEvent::granted);
        break;
      case RouterCommand::deny:
        destination_gets(DestinationEvent::denied);
        break;
      case RouterCommand::confirm:
        source_gets(SourceEvent::confirmed);
        break;
      case RouterCommand::resume:
        source_gets(SourceEvent::resumed);
        break;
      case RouterCommand::abandon:
        source_gets(SourceEvent::destination_died);
        break;
      case RouterCommand::hurry:
        source_gets(SourceEvent::timed_out);
        break;
      case RouterCommand::inquire:
        destination_gets(DestinationEvent::source_died);
        break;
      case RouterCommand::sweep:
        if (parcel == Parcel::closed) parcel = Parcel::none;
        break;
      case RouterCommand::recompute:
        if (parcel == Parcel::closed) parcel = Parcel::none;
        other = {.present = true,
                 .speaks = true,
                 .turn = order.turn,
                 .known = order.from,
                 .next = order.from};
        break;
      case RouterCommand::cancel_source:
        source_gets(SourceEvent::cancelled);
        break;
      case RouterCommand::cancel_destination:
        destination_gets(DestinationEvent::cancelled);
        break;
    }
  }
}

// --- what happens -------------------------------------------------------------------------------

void World::deliver_to_source() {
  const ToSource message = take(to_source);
  const bool over = leaves->over();
  source_event(message.what);
  if (message.what == SourceEvent::resumed && leaves->state() == SourceState::stays) {
    source.turn = message.turn;
    source.next = message.from;
  }
  // What cancels a request that stays is not the move's.
  if (message.what == SourceEvent::cancelled && over) source.present = source.speaks = false;
}

void World::deliver_to_destination() {
  const ToDestination message = take(to_destination);
  destination_event(message.what, message.turn, message.from);
}

// An iteration, or, of what is known already, a token that is sent again.
void World::generate(Speaker& who) {
  who.sent.emplace_back(who.turn, who.next);
  if (who.next == kTokens) return end_of(who);
  who.next += 1;
  who.known = std::max(who.known, who.next);
  if (&who != &source || !leaves) return;
  const auto orders = leaves->grew(source_tokens());
  if (!orders.empty()) events_told().source.insert(SourceEvent::outgrown);
  carry_out(orders);
}

void World::end_of(Speaker& who) {
  who.present = who.speaks = false;
  if (&who == &source) source_event(SourceEvent::ended);
}

void World::arrive(Speaker& who) {
  const auto [turn, position] = take(who.sent);
  if (!router_alive) return;
  const auto passed = stream.take(turn, position);
  if (!passed.ok()) {
    broken = passed.error().message;
  } else if (*passed == Passes::yes && position == kTokens) {
    router_event(RouterEvent::ended);
  }
}

// Its clients are gone with it. Engines hear of its death, and that nobody reads any more: by the
// end of their connections, or from the next one, whose move is over before it began.
void World::router_dies() {
  router_alive = client = false;
  other = {};
  from_source.clear();
  from_destination.clear();
  if (source_alive) to_source.push_back({SourceEvent::router_died});
  if (destination_alive) to_destination.push_back({DestinationEvent::router_died});
  routes = {};
  router_event(RouterEvent::cancelled);
}

// --- rules --------------------------------------------------------------------------------------

void World::look() {
  const Speaker* all[] = {&source, &destination, &other};
  for (const Speaker* one : all) {
    for (const Speaker* two : all) {
      if (one < two && one->speaks && two->speaks && one->turn == two->turn) {
        broken = "two speak under one turn";
      }
    }
    if (one->speaks && !one->present) broken = "it speaks without room";
  }
}

std::string World::fault_at_rest() const {
  if (source.present) return "the source keeps its room";
  if (destination.present) return "the destination keeps its room";
  if (other.present) return "the third engine keeps its room";
  if (parcel != Parcel::none) return "a parcel is left";
  if (client && stream.next() != kTokens + 1) return "the client waits for tokens";
  return "";
}

std::string World::text() const {
  std::ostringstream out;
  const auto speaker = [&](const char* name, const Speaker& who) {
    if (who.present) out << ", " << name << " has " << who.known << " tokens";
    if (who.speaks) out << " and speaks under " << who.turn << " from " << who.next;
    if (!who.sent.empty()) out << ", " << who.sent.size() << " on the way";
  };
  out << (leaves ? to_string(leaves->state()) : "dead") << " | "
      << (!destination_alive ? "dead"
          : comes            ? to_string(comes->state())
                             : "nothing")
      << " | " << (router_alive ? to_string(routes.state()) : "dead") << " | turn " << stream.turn()
      << ", next " << stream.next();
  speaker("source", source);
  speaker("destination", destination);
  speaker("other", other);
  for (const ToSource& one : to_source) out << ", to source: " << to_string(one.what);
  for (const ToDestination& one : to_destination) {
    out << ", to destination: " << to_string(one.what);
  }
  for (const auto* queue : {&from_source, &from_destination}) {
    for (const ToRouter& one : *queue) out << ", to router: " << to_string(one.what);
  }
  return out.str();
}

std::size_t World::hash() const noexcept {
  std::size_t seed = 0;
  const auto mix = [&](std::size_t value) { seed = (seed ^ value) * 0x9E3779B97F4A7C15; };
  for (const Speaker* who : {&source, &destination, &other}) {
    mix(who->present * 2U + who->speaks);
    mix(who->turn * 64 + who->known * 8 + who->next);
    for (const auto& [turn, position] : who->sent) mix(turn * 16 + position);
  }
  mix(leaves ? static_cast<std::size_t>(leaves->state()) : 99);
  mix(comes ? static_cast<std::size_t>(comes->state()) : 99);
  mix(static_cast<std::size_t>(routes.state()));
  mix(stream.turn() * 16 + stream.next());
  mix(static_cast<std::size_t>(parcel) * 64 + static_cast<std::size_t>(copies) * 8 +
      static_cast<std::size_t>(computing));
  mix(hold_asked * 4U + held * 2U + client);
  for (const auto& one : to_source) mix(static_cast<std::size_t>(one.what));
  for (const auto& one : to_destination) mix(static_cast<std::size_t>(one.what));
  for (const auto& one : from_source) mix(static_cast<std::size_t>(one.what));
  for (const auto& one : from_destination) mix(static_cast<std::size_t>(one.what));
  return seed;
}

}  // namespace aqua::migration::test
