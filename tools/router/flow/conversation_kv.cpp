// SPDX-License-Identifier: Apache-2.0
// Moves by KV: what the engines say is told to the relay, and what it orders is sent to them. A
// stream that is cut says the rest: deny, confirm and cancel.
#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "tools/router/flow/conversation.hpp"

namespace aqua::router {

using migration::RouterCommand;
using migration::RouterEvent;

namespace {

// How many times `hold` passes until a source that does not hurry is told to speak on. By then one
// that is stopped is known to be down, and its destination was asked whether it has all.
constexpr int kAfterHurry = 4;
// Between two tries of an order that the engine may not have heard.
constexpr std::chrono::milliseconds kResumeAgain{200};

}  // namespace

void Conversation::handle(EngineWord& said) {
  const bool source = said.turn == relay_.speaker();
  if (!move_ || move_->kind != migration::Kind::kv) {
    // It moves by an order that was given up here: nobody else is to speak.
    if (source && said.word.what == MoveWord::What::asked) resume(said.turn, last_kv_);
    return;
  }
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
      blame_move(move_->order.engine->name, said.word.reason.value_or(MoveEnd::refused),
                 said.word.why);
      return tell(RouterEvent::failed);
    case MoveWord::What::reported:
      if (!source) return;
      blame_source(said.word.reason.value_or(MoveEnd::refused), said.word.why);
      return tell(RouterEvent::reported);
    case MoveWord::What::asked:
      if (!source) return;
      if (said.word.reason) blame_source(*said.word.reason, said.word.why);
      return tell(RouterEvent::asked);
  }
}

void Conversation::order_source() {
  step("order");
  move_->ordered = true;
  move_->until = Clock::now() + options_.hold;
  const Turn source = move_->source, move = move_->destination;
  sender_to(move_->source_engine)
      .post(move_order({name_, source}, move_->order.engine->kv, move, move_->answered,
                       move_->room_tokens),
            [mail = mail_, heard = move_->heard, move](const Result<void>& done) {
              if (done.ok()) {
                *heard = true;
              } else {
                mail->post(OrderUnheard{move, done.error()});
              }
            });
}

// The source may have the order to move all the same, and wait for the word of who speaks. It is
// told that it does: it goes on, and an order of this move that comes late is void.
void Conversation::order_unheard() {
  senders_.erase(move_->source_engine.get());  // nothing waits behind what is not answered
  if (resume_) resume_again(Clock::now());     // cut off with them
  tell(RouterEvent::asked);
}

void Conversation::handle(OrderUnheard& unheard) {
  if (!move_ || move_->destination != unheard.move) return;
  const bool unknown = unheard.error.code == Code::not_found;
  blame_source(unknown ? MoveEnd::refused : MoveEnd::died, unheard.error.message);
  // An engine that knows the attempt no more has ended it, as a rule, and its last words are on
  // their way: until the move has taken too long they are waited for.
  if (!(move_->unknown = unknown)) order_unheard();
}

void Conversation::blame_move(const std::string& engine, MoveEnd end, const std::string& why) {
  move_->end = end;
  move_->why = concat("engine ", engine, ": ", why);
}

// Once its destination is gone, that is why the move fails, whatever becomes of its source then.
void Conversation::blame_source(MoveEnd end, const std::string& why) {
  if (relay_.other() != kNoTurn) blame_move(move_->source_engine->name, end, why);
}

void Conversation::blame_death(MoveEnd end, const std::string& why) {
  if (!move_ || relay_.other() == kNoTurn) return;
  move_->end = end;
  move_->why = why;
}

// Again and again until the engine has heard it, whatever was in the way: it may hold the request
// for as long. One that is dead, or does not have the attempt, ends its stream as well. However
// often it asks, one such order is under way, and then the last that it asked for meanwhile.
void Conversation::resume(Turn source, Turn move) {
  const auto found = attempts_.find(source);
  if (found == attempts_.end()) return;
  if (resume_ && resume_->source == source && resume_->under_way) {
    resume_->behind = move;
    return;
  }
  resume_ = Resume{.number = ++resumes_, .source = source, .move = move};
  sender_to(found->second->endpoint())
      .post(resume_order({name_, source}, move),
            [mail = mail_, number = resumes_](const Result<void>& done) {
              mail->post(ResumeTold{number, done.ok()});
            });
}

void Conversation::handle(ResumeTold& told) {
  if (!resume_ || resume_->number != told.number) return;
  if (told.heard && !resume_->behind) return resume_.reset();
  resume_again(Clock::now() + (told.heard ? Clock::duration() : kResumeAgain));
}

void Conversation::resume_again(Clock::time_point at) {
  resume_->under_way = false;
  resume_->at = at;
  resume_->move = resume_->behind.value_or(resume_->move);
}

void Conversation::send(Turn to, EngineCall call, std::function<Mail(const Error&)> failed) {
  const auto found = attempts_.find(to);
  if (found == attempts_.end()) return;
  sender_to(found->second->endpoint())
      .post(std::move(call), [mail = mail_, failed = std::move(failed)](const Result<void>& done) {
        if (!done.ok() && failed) mail->post(failed(done.error()));
      });
}

// The destination of a move that is done had taken the parcel at its own keeper. If it has died
// since, the parcel waits there for the next taker, and the source's keeper has nothing to end.
void Conversation::sweep(const Move& move, bool done) {
  const std::string& to = move.order.engine->kv.pool;
  fleet_.sweep(done ? to : move.source_engine->kv.pool, to, name_, move.destination);
}

// One engine is told one thing after another.
OrderSender& Conversation::sender_to(const std::shared_ptr<const EngineEndpoint>& engine) {
  std::erase_if(senders_, [](const auto& sender) { return sender.second->over(); });
  auto& sender = senders_[engine.get()];
  if (!sender) sender = std::make_unique<OrderSender>(engine);
  return *sender;
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
      step("grant");
      return send(destination, grant_order({name_, destination}, order.from),
                  [destination, engine = move_->order.engine->name](const Error& error) {
                    return AttemptDied{
                        .turn = destination,
                        .error = {error.code, concat("engine ", engine, ": ", error.message)}};
                  });
    case RouterCommand::resume:
      return resume(source, destination);
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
            return EngineWord{
                destination,
                {.what = MoveWord::What::failed, .reason = MoveEnd::died, .why = error.message}};
          });
    case RouterCommand::sweep:
    case RouterCommand::recompute:
      return sweep(*move_, /*done=*/false);
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
    const std::shared_ptr<const EngineEndpoint> source = move_->source_engine;  // the move ends
    return begin_elsewhere(source->name, FaultKind::broke_off,
                           {Code::unavailable, concat("engine ", source->name, " died in a move")});
  }
  follow_kv(next);
}

void Conversation::follow_kv(Next next) {
  if (next == Next::switched) {
    pauses_ = true;
    const bool orphaned = move_->orphaned;
    const std::string engine = move_->order.engine->name;
    end_move(!orphaned);
    step("switched");
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
  if (!move_->ordered) {
    blame_move(move_->order.engine->name, MoveEnd::too_late, "it kept no room in time");
    tell(RouterEvent::failed);
  } else if (!*move_->heard) {
    if (!move_->unknown) blame_source(MoveEnd::too_late, "it did not answer to the order in time");
    order_unheard();
  } else if (!std::exchange(move_->hurried, true) && relay_.other() != kNoTurn) {
    move_->until = Clock::now() + kAfterHurry * options_.hold;
    tell(RouterEvent::timed_out);
  } else {  // it has heard neither of that, or not that its destination is gone
    order_unheard();
  }
}

}  // namespace aqua::router
