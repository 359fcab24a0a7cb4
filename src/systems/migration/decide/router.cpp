// SPDX-License-Identifier: Apache-2.0
#include "aqua/migration/router.hpp"

#include "base/concat.hpp"
#include "systems/migration/decide/tables.hpp"

namespace aqua::migration {
namespace {

// By state, moving to stays.
RouterStep pick(RouterState state, const RouterStep (&row)[5]) {
  return row[static_cast<std::size_t>(state)];
}

}  // namespace

RouterStep step(RouterState state, RouterEvent event, bool otherwise) {
  using S = RouterState;
  using C = RouterCommand;
  if (state >=
      S::recomputed) {  // it is over: who still asks is told that another speaks, or nobody
    if (event == RouterEvent::confirmed) return {state, {C::deny}};
    if (event == RouterEvent::asked || event == RouterEvent::reported) {
      return {state, {C::confirm}};
    }
    if (event == RouterEvent::source_died || event == RouterEvent::destination_died) {
      return {state, {C::sweep}};
    }
    return {state};
  }
  switch (event) {
    case RouterEvent::reported:
      return pick(state, {{S::stays, {C::deny}},
                          {S::stays},
                          {S::orphaned, {C::confirm}},
                          {S::switched, {C::confirm}},
                          {S::stays}});
    case RouterEvent::confirmed:
      if (otherwise) {
        return pick(state, {{S::stays, {C::deny, C::resume}},
                            {S::alone, {C::deny}},
                            {S::recomputed, {C::deny, C::recompute}},
                            {S::switched, {C::grant}},
                            {S::stays, {C::deny}}});
      }
      return pick(state, {{S::switched, {C::grant, C::confirm}},
                          {S::alone, {C::deny}},
                          {S::switched, {C::grant}},
                          {S::switched, {C::grant}},
                          {S::stays, {C::deny}}});
    case RouterEvent::asked:
      return pick(state, {{S::stays, {C::deny, C::resume}},
                          {S::stays, {C::resume}},
                          {S::orphaned, {C::confirm}},
                          {S::switched, {C::confirm}},
                          {S::stays, {C::resume}}});
    case RouterEvent::failed:
      return pick(state, {{S::alone, {C::abandon}},
                          {S::alone},
                          {S::recomputed, {C::recompute}},
                          {S::recomputed, {C::recompute}},
                          {S::stays}});
    case RouterEvent::destination_died:
      return pick(state, {{S::alone, {C::abandon}},
                          {S::alone},
                          {S::recomputed, {C::recompute}},
                          {S::recomputed, {C::recompute}},
                          {S::stays, {C::sweep}}});
    case RouterEvent::source_died:
      return pick(state, {{S::orphaned, {C::inquire}},
                          {S::recomputed, {C::recompute}},
                          {S::orphaned},
                          {S::switched},
                          {S::recomputed, {C::recompute}}});
    case RouterEvent::timed_out:
      return pick(state, {{S::moving, {C::hurry}},
                          {S::alone},
                          {S::recomputed, {C::deny, C::recompute}},
                          {S::switched},
                          {S::stays}});
    case RouterEvent::cancelled:
      return pick(state, {{S::finished, {C::cancel_source, C::cancel_destination}},
                          {S::finished, {C::cancel_source}},
                          {S::finished, {C::cancel_destination}},
                          {S::finished, {C::cancel_destination}},
                          {S::finished, {C::cancel_source}}});
    case RouterEvent::ended:
      return pick(state, {{S::finished, {C::cancel_destination}},
                          {S::finished},
                          {S::finished, {C::cancel_destination}},
                          {S::finished},
                          {S::finished}});
  }
  return {};
}

// A turn is given once where the state changes, and said again where it does not.
Result<std::vector<RouterOrder>> RouterMove::on(RouterEvent event, StreamFilter& stream,
                                                Position position) {
  // A destination that would go on from before what has passed lacks tokens.
  const bool otherwise = event == RouterEvent::confirmed && position < stream.next();
  const RouterStep done = step(state_, event, otherwise);
  if (!done.due()) {
    return Error{Code::failed_precondition,
                 concat("move: ", to_string(event), " while the router's is ", to_string(state_))};
  }
  std::vector<RouterOrder> orders;
  for (const RouterCommand command : done) {
    RouterOrder order{.what = command};
    if (command == RouterCommand::grant || command == RouterCommand::resume ||
        command == RouterCommand::recompute) {
      if (done.next() != state_) {
        stream.raise();
        from_ = stream.next();
      }
      order.turn = stream.turn();
      order.from = from_;
    }
    orders.push_back(order);
  }
  state_ = done.next();
  return orders;
}

std::string_view to_string(RouterState state) noexcept {
  constexpr std::string_view kNames[] = {"moving", "alone",      "orphaned", "switched",
                                         "stays",  "recomputed", "finished"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view to_string(RouterEvent event) noexcept {
  constexpr std::string_view kNames[] = {"reported",  "confirmed",   "asked",
                                         "failed",    "source_died", "destination_died",
                                         "timed_out", "cancelled",   "ended"};
  return kNames[static_cast<std::size_t>(event)];
}

std::string_view to_string(RouterCommand command) noexcept {
  constexpr std::string_view kNames[] = {
      "grant",   "deny",  "confirm",   "resume",        "abandon",           "hurry",
      "inquire", "sweep", "recompute", "cancel_source", "cancel_destination"};
  return kNames[static_cast<std::size_t>(command)];
}

}  // namespace aqua::migration
