// SPDX-License-Identifier: Apache-2.0
// A world of one request that moves: two engines, a router, a client, messages on their way, and a
// third engine that computes anew. The three state machines decide; all else is here as simple as
// it can be. steps() lists what may happen next; each yields another world.
//
// What a world may do besides running on (a death, a client that goes, a move that takes too long
// for the router or the destination, a destination that fails, a source whose KV is lost) is in its
// budget. A world that breaks a rule says so in `broken`.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aqua/migration/destination.hpp"
#include "aqua/migration/router.hpp"
#include "aqua/migration/source.hpp"

namespace aqua::migration::test {

// The first in a queue, which leaves it.
template <typename Message>
Message take(std::vector<Message>& queue) {
  Message first = queue.front();
  queue.erase(queue.begin());
  return first;
}

struct Budget {
  int deaths = 0, cancels = 0, timeouts = 0, failures = 0;
  int suspicions = 0;       // a source that stands still is taken for dead
  int losses = 0;           // its scheduler sends it out, or its KV is lost
  std::uint32_t room = 64;  // tokens that the destination keeps room for, prompt and answer
  friend bool operator==(const Budget&, const Budget&) = default;
};

// Who speaks, and what of its answer it has.
struct Speaker {
  bool present = false;  // it holds blocks for the request
  bool speaks = false;
  Turn turn = 0;
  Position known = 0;                             // tokens generated
  Position next = 0;                              // to be sent
  std::vector<std::pair<Turn, Position>> sent{};  // on the way to the router
  friend bool operator==(const Speaker&, const Speaker&) = default;
};

enum class Parcel : std::uint8_t { none, open, closing, closed, taken };

struct ToSource {
  SourceEvent what{};
  Turn turn = 0;
  Position from = 0;
  friend bool operator==(const ToSource&, const ToSource&) = default;
};
struct ToDestination {
  DestinationEvent what{};
  Turn turn = 0;
  Position from = 0;
  friend bool operator==(const ToDestination&, const ToDestination&) = default;
};
struct ToRouter {
  RouterEvent what{};
  Position position = 0;
  friend bool operator==(const ToRouter&, const ToRouter&) = default;
};

// What the machines of any world were told, for tests that ask whether all was tried.
struct EventsTold {
  std::set<SourceEvent> source{};
  std::set<DestinationEvent> destination{};
  std::set<RouterEvent> router{};
};
[[nodiscard]] EventsTold& events_told();

struct World {
  static constexpr Position kTokens = 2;  // then comes the end, as position kTokens
  static constexpr std::uint32_t kPrompt = 4;

  World(Kind kind, const Budget& budget);
  [[nodiscard]] std::vector<World> steps() const;
  // Nothing else can happen, and the source waits: it is told that its move takes too long.
  [[nodiscard]] std::optional<World> after_too_long() const;
  // What must hold where nothing is left to happen; empty when it does.
  [[nodiscard]] std::string fault_at_rest() const;
  [[nodiscard]] std::size_t hash() const noexcept;
  // On one line, for whoever looks for how it came to be.
  [[nodiscard]] std::string text() const;
  friend bool operator==(const World&, const World&) = default;

  Budget budget;
  Kind kind;
  Speaker source{}, destination{}, other{};  // other: that computes anew
  std::optional<SourceMove> leaves;          // the machines
  std::optional<DestinationMove> comes{};
  RouterMove routes{};
  StreamFilter stream{};
  bool source_alive = true, destination_alive = true, router_alive = true, client = true;
  bool asked_for_room = true, hold_asked = false, held = false;
  int copies = 0;     // of blocks, that are under way to the destination
  int computing = 0;  // by tokens: what it was told and has not computed yet
  Parcel parcel = Parcel::none;
  Position handed = 0;  // tokens generated, says the note
  std::vector<ToSource> to_source{};
  std::vector<ToDestination> to_destination{};
  std::vector<ToRouter> from_source{}, from_destination{};
  std::string broken{};

 private:
  template <typename Change>
  void add(std::vector<World>& worlds, Change change) const;
  void source_event(SourceEvent event);
  void carry_out(const std::vector<SourceOrder>& orders, bool is_the_rest = false);
  [[nodiscard]] std::uint32_t source_tokens() const {
    return kPrompt + std::uint32_t(source.known);
  }
  void destination_event(DestinationEvent event, Turn turn = 0, Position from = 0);
  void router_event(RouterEvent event, Position position = 0);
  void deliver_to_source();
  void deliver_to_destination();
  void generate(Speaker& who);
  void arrive(Speaker& who);
  void router_dies();
  void end_of(Speaker& who);
  void look();
};

}  // namespace aqua::migration::test
