// SPDX-License-Identifier: Apache-2.0
#include "aqua/migration/source.hpp"

#include "base/concat.hpp"
#include "systems/migration/decide/tables.hpp"

namespace aqua::migration {
namespace {

// By state, reserving to asking.
SourceStep pick(SourceState state, const SourceStep (&row)[6]) {
  return row[static_cast<std::size_t>(state)];
}

Stays reason_of(SourceEvent event) {
  switch (event) {
    case SourceEvent::refused:
      return Stays::refused;
    case SourceEvent::held:
      return Stays::outgrown;
    case SourceEvent::lost:
      return Stays::lost;
    case SourceEvent::router_died:
      return Stays::router_died;
    case SourceEvent::timed_out:
      return Stays::timed_out;
    default:
      return Stays::destination_died;
  }
}

}  // namespace

SourceStep step(SourceState state, SourceEvent event, bool otherwise) {
  using S = SourceState;
  using C = SourceCommand;
  constexpr SourceStep kNotDue{};
  if (state >= S::stays) {  // it is over: whatever comes is late, but that another speaks
    if (state == S::stays && event == SourceEvent::confirmed) return {S::moved, {C::free}};
    return {state};
  }
  switch (event) {
    case SourceEvent::reserved:
      return pick(
          state, {otherwise ? SourceStep{S::holding, {C::hold}} : SourceStep{S::copying, {C::copy}},
                  kNotDue, kNotDue, kNotDue, kNotDue, kNotDue});
    case SourceEvent::refused:
      return pick(state, {{S::stays, {C::report}}, kNotDue, kNotDue, kNotDue, kNotDue, kNotDue});
    case SourceEvent::copied:
      return pick(
          state, {kNotDue,
                  otherwise ? SourceStep{S::holding, {C::hold}} : SourceStep{S::copying, {C::copy}},
                  {S::holding},
                  {S::closing},
                  {S::handed},
                  {S::asking}});
    case SourceEvent::outgrown:
      return pick(state,
                  {kNotDue, {S::holding, {C::hold}}, {S::holding}, kNotDue, kNotDue, kNotDue});
    case SourceEvent::held:
      return pick(state, {kNotDue, kNotDue,
                          otherwise ? SourceStep{S::stays, {C::withdraw, C::release, C::report}}
                                    : SourceStep{S::closing, {C::copy, C::close}},
                          kNotDue, kNotDue, kNotDue});
    case SourceEvent::closed:
      return pick(state, {kNotDue, kNotDue, kNotDue, {S::handed}, kNotDue, {S::asking}});
    case SourceEvent::confirmed:
      return {S::moved, {C::withdraw, C::free}};
    case SourceEvent::resumed:
      return pick(state, {{S::stays, {C::withdraw}},
                          {S::stays, {C::withdraw}},
                          {S::stays, {C::withdraw, C::release}},
                          {S::stays, {C::withdraw, C::release}},
                          {S::stays, {C::withdraw, C::release}},
                          {S::stays, {C::withdraw, C::release}}});
    case SourceEvent::destination_died:
    case SourceEvent::timed_out:
      return pick(state, {{S::stays, {C::withdraw, C::report}},
                          {S::stays, {C::withdraw, C::report}},
                          {S::stays, {C::withdraw, C::release, C::report}},
                          {S::asking, {C::ask}},
                          {S::asking, {C::ask}},
                          {S::asking, {C::ask}}});
    case SourceEvent::router_died:
      return pick(state, {{S::stays, {C::withdraw}},
                          {S::stays, {C::withdraw}},
                          {S::stays, {C::withdraw, C::release}},
                          {S::asking, {C::ask}},
                          {S::asking, {C::ask}},
                          {S::asking, {C::ask}}});
    case SourceEvent::lost:
      return pick(state, {{S::stays, {C::withdraw, C::report}},
                          {S::stays, {C::withdraw, C::report}},
                          {S::stays, {C::withdraw, C::report}},
                          {S::asking, {C::ask}},
                          {S::handed},
                          {S::asking}});
    case SourceEvent::cancelled:
      return {S::gone, {C::withdraw, C::free}};
    case SourceEvent::ended:
      return pick(state, {{S::gone, {C::withdraw}},
                          {S::gone, {C::withdraw}},
                          {S::gone, {C::withdraw}},
                          kNotDue,
                          kNotDue,
                          kNotDue});
  }
  return kNotDue;
}

Result<SourceMove> SourceMove::begin(const Candidate& candidate, const SourceOptions& options) {
  if (const Stays reason = may_move(candidate, options.kind); reason != Stays::moves) {
    return Error{Code::failed_precondition, concat("move: ", why(reason))};
  }
  if (options.block_tokens == 0) return Error{Code::invalid_argument, "move: block_tokens is 0"};
  const std::uint64_t known = std::uint64_t{candidate.prompt_tokens} + candidate.generated_tokens;
  if (options.room_tokens < known) {
    return Error{Code::resource_exhausted, concat("move: room for ", options.room_tokens,
                                                  " tokens, the request has ", known)};
  }
  return SourceMove(options);
}

bool SourceMove::otherwise(SourceEvent event, std::uint32_t tokens) const noexcept {
  switch (event) {
    case SourceEvent::reserved:
      return finished(tokens) == 0 || fills_room(tokens);
    case SourceEvent::copied:
      return rounds_ == kRounds || finished(tokens) <= std::uint64_t{sent_} + little_ ||
             fills_room(tokens);
    case SourceEvent::held:
      return tokens > room_;
    default:
      return false;
  }
}

Result<std::vector<SourceOrder>> SourceMove::on(SourceEvent event, std::uint32_t tokens) {
  const SourceStep done = step(state_, event, otherwise(event, tokens));
  if (!done.due()) {
    return Error{Code::failed_precondition,
                 concat("move: ", to_string(event), " while the source is ", to_string(state_))};
  }
  const bool heeded = (event == SourceEvent::copied && state_ == SourceState::copying) ||
                      (event == SourceEvent::held && state_ == SourceState::holding);
  if (heeded && tokens < sent_) {
    return Error{Code::invalid_argument, concat("move: ", to_string(event), " with ", tokens,
                                                " tokens, of which ", sent_, " have crossed")};
  }
  std::vector<SourceOrder> orders;
  for (const SourceCommand command : done) {
    SourceOrder order{.what = command};
    if (command == SourceCommand::copy) {
      const std::uint32_t until = event == SourceEvent::held ? tokens : finished(tokens);
      order.range = {sent_, until - sent_};
      sent_ = until;
      rounds_ += 1;
    }
    orders.push_back(order);
  }
  if (done.next() == SourceState::stays && state_ != SourceState::stays) reason_ = reason_of(event);
  state_ = done.next();
  return orders;
}

// Leaves room for what the iteration computes that is under way when it is told to hold.
bool SourceMove::fills_room(std::uint32_t tokens) const noexcept {
  return std::uint64_t{tokens} + 2 > room_;
}

std::vector<SourceOrder> SourceMove::grew(std::uint32_t tokens) {
  if (state_ != SourceState::copying || !fills_room(tokens)) return {};
  return on(SourceEvent::outgrown).value();
}

std::string_view to_string(SourceState state) noexcept {
  constexpr std::string_view kNames[] = {"reserving", "copying", "holding", "closing", "handed",
                                         "asking",    "stays",   "moved",   "gone"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view to_string(SourceEvent event) noexcept {
  constexpr std::string_view kNames[] = {
      "reserved", "refused",          "copied",      "outgrown",  "held", "closed",    "confirmed",
      "resumed",  "destination_died", "router_died", "timed_out", "lost", "cancelled", "ended"};
  return kNames[static_cast<std::size_t>(event)];
}

std::string_view to_string(SourceCommand command) noexcept {
  constexpr std::string_view kNames[] = {"copy",    "hold", "close", "withdraw",
                                         "release", "ask",  "free",  "report"};
  return kNames[static_cast<std::size_t>(command)];
}

}  // namespace aqua::migration
