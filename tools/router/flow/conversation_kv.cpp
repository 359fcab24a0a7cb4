// SPDX-License-Identifier: Apache-2.0
// Moves by KV: what the engines say is told to the relay, and what it orders is sent to them. A
// stream that is cut says the rest: deny, confirm and cancel.
#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "tools/router/flow/conversation.hpp"

namespace aqua::router {

using migration::RouterCommand;
using migration::RouterEvent;

void Conversation::handle(EngineWord& said) {
  if (!move_ || move_->kind != migration::Kind::kv) return;
  const bool source = said.turn == relay_.speaker();
  const bool destination = said.turn == relay_.other();
  switch (said.word.what) {
    case MoveWord::What::reserved:
      if (destination && !move_->ordered && relay_.phase() == Phase::moving) {
        move_->room_tokens = said.word.room_tokens;
        order_source();
      }
      return;
    case MoveWord::What::confirmed:
      if (destination) tell(RouterEvent::confirmed, said.word.position);
      return;
    case MoveWord::What::failed:
      if (!destination) return;
      tell(RouterEvent::failed);
      if (move_ && !move_->ordered) tell(RouterEvent::reported);  // the source never knew
      return;
    case MoveWord::What::reported:
      if (source) tell(RouterEvent::reported);
      return;
    case MoveWord::What::asked:
      if (source) tell(RouterEvent::asked);
      return;
  }
}

void Conversation::order_source() {
  move_->ordered = true;
  move_->until = Clock::now() + options_.hold;
  const Turn source = move_->source;
  send(source,
       move_order({name_, source}, move_->engine->kv, move_->destination, move_->answered,
                  move_->room_tokens),
       [source](const Error& error) {
         return EngineWord{source, {.what = MoveWord::What::reported, .why = error.message}};
       });
}

void Conversation::send(Turn to, EngineCall call, std::function<Mail(const Error&)> failed) {
  const auto found = attempts_.find(to);
  if (found == attempts_.end()) return;
  errands_to(found->second->door())
      .post(std::move(call), [mail = mail_, failed = std::move(failed)](const Result<void>& done) {
        if (!done.ok() && failed) mail->post(failed(done.error()));
      });
}

// One engine is told one thing after another.
Errands& Conversation::errands_to(const std::shared_ptr<const EngineDoor>& engine) {
  std::erase_if(errands_, [](const auto& errands) { return errands.second->over(); });
  auto& errands = errands_[engine.get()];
  if (!errands) errands = std::make_unique<Errands>(engine);
  return *errands;
}

// Nobody else ends what waits in the pool of a request whose two engines are gone.
void Conversation::sweep() {
  const auto engine =
      fleet_.of_pool(move_->engine->kv.pool, {move_->source_engine->name, move_->engine->name});
  if (!engine) return;  // the next move of the request has a higher turn, which ends it
  errands_to(engine).post(sweep_order(name_), [](const Result<void>&) {});
}

void Conversation::carry_out() {
  for (const migration::RouterOrder& order : relay_.take_orders()) {
    if (move_) carry_out(order);
  }
}

void Conversation::carry_out(const migration::RouterOrder& order) {
  const Turn source = move_->source, destination = move_->destination;
  switch (order.what) {
    case RouterCommand::grant:
      if (const auto found = attempts_.find(destination); found != attempts_.end())
        found->second->grant(order.from);
      return send(destination, grant_order({name_, destination}, order.from),
                  [destination](const Error& error) {
                    return AttemptDied{.turn = destination, .error = error};
                  });
    case RouterCommand::resume:
      return send(source, plain_order("resume", {name_, source}));
    case RouterCommand::abandon:
      if (move_->ordered) send(source, plain_order("abandon", {name_, source}));
      return;
    case RouterCommand::hurry:
      return send(source, plain_order("hurry", {name_, source}));
    case RouterCommand::inquire:
      move_->orphaned = true;
      move_->until = Clock::now() + options_.hold;
      return send(
          destination, plain_order("source_died", {name_, destination}),
          [destination](const Error& error) {
            return EngineWord{destination, {.what = MoveWord::What::failed, .why = error.message}};
          });
    case RouterCommand::sweep:
    case RouterCommand::recompute:
      return sweep();
    case RouterCommand::deny:
    case RouterCommand::confirm:
    case RouterCommand::cancel_source:
    case RouterCommand::cancel_destination:
      return;
  }
}

void Conversation::tell(RouterEvent event, migration::Position position) {
  const Next next = relay_.news(event, position);
  carry_out();
  if (next == Next::want_place) {
    const std::shared_ptr<const EngineDoor> source = move_->source_engine;  // the move ends
    return begin_elsewhere(source->name, FaultKind::broke_off,
                           {Code::unavailable, concat("engine ", source->name, " died in a move")});
  }
  follow_kv(next);
}

void Conversation::follow_kv(Next next) {
  if (next == Next::switched) {
    pauses_ = true;
    const bool orphaned = move_->orphaned;
    const std::string engine = move_->engine->name;
    end_move(!orphaned);
    if (orphaned) fleet_.goes_on_at(id_, engine);
  } else if (next == Next::move_failed) {
    end_move(false);
  } else if (move_ && !move_->ordered && relay_.phase() == Phase::moving &&
             relay_.other() == kNoTurn) {
    return tell(RouterEvent::reported);  // its destination is gone, and the source never knew
  }
  if (!over() && !error_) cut_all_but(relay_.speaker(), relay_.other());
}

void Conversation::look_at_kv_move() {
  if (relay_.phase() == Phase::orphaned) return tell(RouterEvent::timed_out);
  if (!move_->ordered) {  // the destination is silent
    tell(RouterEvent::failed);
    if (move_) tell(RouterEvent::reported);
  } else if (!std::exchange(move_->hurried, true)) {
    move_->until = Clock::time_point::max();  // from now on the source's own silence counts
    tell(RouterEvent::timed_out);
  }
}

}  // namespace aqua::router
