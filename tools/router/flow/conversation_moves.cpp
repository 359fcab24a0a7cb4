// SPDX-License-Identifier: Apache-2.0
// How an answer goes from one engine to another: by order, or because an attempt has died.
#include <utility>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "tools/router/flow/conversation.hpp"

namespace aqua::router {
namespace {

FaultKind kind_of(const AttemptDied& died) {
  // It does not know the model, or the path, that it said it has.
  if (died.status == 404) return FaultKind::malformed;
  if (died.status != 0) return FaultKind::refused;
  if (died.error.code == Code::data_loss) return FaultKind::malformed;
  if (died.error.code == Code::deadline_exceeded) return FaultKind::silent;
  return FaultKind::broke_off;
}

MoveEnd end_of(const AttemptDied& died) {
  switch (kind_of(died)) {
    case FaultKind::silent:
      return MoveEnd::too_late;
    case FaultKind::malformed:
      return MoveEnd::refused;
    case FaultKind::refused:  // an engine that is too busy answers 429 or 503
      return died.status == 429 || died.status == 503 ? MoveEnd::no_room : MoveEnd::refused;
    case FaultKind::broke_off:
      break;
  }
  return MoveEnd::died;
}

// Says that the request is wrong, whoever is asked. Of an answer that goes on it says less: the
// request was right for the engine that began it.
bool is_the_clients(int status) {
  return status == 400 || status == 413 || status == 415 || status == 422;
}

}  // namespace

bool Conversation::goes_on(const std::string& why) {
  if (relay_.passed() == 0 || (asked_.stays.empty() && exact_)) return true;
  fail({Code::unavailable, concat(why, "; the answer cannot go on elsewhere: ",
                                  asked_.stays.empty() ? kNotAllTold : asked_.stays)});
  return false;
}

void Conversation::start(const std::shared_ptr<const EngineEndpoint>& engine, AttemptKind kind,
                         Turn turn) {
  AttemptOrder order{
      .kind = kind, .turn = turn, .from = relay_.passed(), .silence = options_.silence};
  if (!asked_.stays.empty()) {
    order.kind = asked_.stream ? AttemptKind::raw_stream : AttemptKind::raw_whole;
    // Nothing is heard of it before its end. Health checks tell whether its engine lives.
    if (!asked_.stream) order.silence = std::chrono::seconds(0);
    order.call = {asked_.api == Api::chat ? "/v1/chat/completions" : "/v1/completions", body_};
  } else if (kind == AttemptKind::warm) {
    order.call = warm_call(engine->dialect, engine->model, asked_, prompt_, answer_);
  } else {
    order.call = continue_call(engine->dialect, engine->model, asked_, prompt_, answer_);
  }
  if (asked_.stays.empty() && !engine->kv.pool.empty()) {
    const bool receives = kind == AttemptKind::receive;
    order.call = named(std::move(order.call), {name_, turn}, answer_.size(),
                       receives ? move_->source_engine->kv.role : "");
  }
  attempts_[turn] = std::make_unique<Attempt>(engine, std::move(order), mail_);
}

void Conversation::handle(FleetOrder& order) {
  if (order.request != id_) return;
  switch (order.kind) {
    case OrderKind::place:
      if (order.engine && relay_.phase() == Phase::idle) {
        start(order.engine, AttemptKind::tokens, relay_.begin());
      } else if (const auto speaker = attempts_.find(relay_.speaker());
                 speaker != attempts_.end()) {
        // Its source went down before the fleet was told that its move is done.
        fleet_.goes_on_at(id_, speaker->second->engine());
      }
      return;
    case OrderKind::move:
      return begin_move(order);
    case OrderKind::drop:
      return drop_attempts("");
    case OrderKind::gone:
      if (order.engine) drop_attempts(order.engine->name);
  }
}

// By KV where the fleet has found that both engines can hand it over now; else by tokens, which any
// engine can. The speaker's endpoint says what held when its attempt began: a keeper may have come
// back since.
void Conversation::begin_move(const FleetOrder& order) {
  const bool can = order.engine && asked_.stays.empty() && exact_ && !move_ && !waits_;
  const auto speaker = attempts_.find(relay_.speaker());
  const bool by_kv = can && !order.by_tokens && speaker != attempts_.end() &&
                     has_way(*speaker->second->endpoint(), *order.engine);
  if (by_kv && spoke_ != relay_.speaker()) {
    waits_ = Waits{order, Clock::now() + options_.hold};
    return;
  }
  const auto kind = by_kv ? migration::Kind::kv : migration::Kind::tokens;
  const Turn turn = !can ? kNoTurn : by_kv ? relay_.receive() : relay_.warm();
  if (turn == kNoTurn)
    return fleet_.move_over(order, kind, MoveEnd::not_yet, "it could not be moved just then");
  move_ = Move{.order = order,
               .until = Clock::now() + (by_kv ? options_.hold : options_.warm),
               .kind = kind,
               .answered = answer_.size()};
  if (by_kv) {
    move_->source_engine = speaker->second->endpoint();
    move_->source = relay_.speaker();
    move_->destination = last_kv_ = turn;
  }
  start(order.engine, by_kv ? AttemptKind::receive : AttemptKind::warm, turn);
  step(by_kv ? "receive" : "warm");
}

void Conversation::begin_what_waits() {
  if (!waits_ || spoke_ != relay_.speaker()) return;
  begin_move(std::exchange(waits_, std::nullopt)->order);
}

void Conversation::give_up_order(MoveEnd end, const std::string& why) {
  if (!waits_) return;
  const FleetOrder order = std::exchange(waits_, std::nullopt)->order;
  fleet_.move_over(order, migration::Kind::kv, end, why, false);
}

// The first warm-up of a long answer takes long, and what was said meanwhile would be computed
// while the client waits: so that is computed ahead as well, once.
void Conversation::handle(WarmedUp& warmed) {
  constexpr std::size_t kFew = 16;  // tokens
  const bool again = move_ && !move_->warmed_twice && answer_.size() > move_->answered + kFew;
  const Turn turn = again ? relay_.warm_again(warmed.turn) : relay_.warmed(warmed.turn);
  if (turn == kNoTurn || !move_) return;
  cut_all_but(relay_.speaker(), kNoTurn);
  if (again) {
    move_->answered = answer_.size();
    move_->warmed_twice = true;
    move_->until = Clock::now() + options_.warm;
    return start(move_->order.engine, AttemptKind::warm, turn);
  }
  move_->until = Clock::now() + options_.hold;
  start(move_->order.engine, AttemptKind::tokens, turn);
  step("go_on");
}

void Conversation::end_move(bool done) {
  if (!move_) return;
  const Move over = *std::exchange(move_, std::nullopt);
  if (done) counters_.moved(over.kind, Clock::now() - over.order.ordered);
  if (over.ordered) sweep(over, done);
  fleet_.move_over(over.order, over.kind, done ? MoveEnd::done : over.end, over.why);
}

void Conversation::follow(Next next) {
  if (move_ && move_->kind == migration::Kind::kv) return follow_kv(next);
  if (next != Next::release && next != Next::move_failed) return;
  // What was held ends the answer: nothing is left to move.
  if (move_ && relay_.phase() == Phase::over) move_->end = MoveEnd::ended;
  cut_all_but(relay_.speaker(), kNoTurn);
  end_move(false);
  if (next == Next::move_failed) return;
  for (Piece& piece : relay_.take_held()) {
    if (here_) say(piece);  // the last may have been said by a stop text
  }
}

void Conversation::handle(AttemptDied& died) {
  const Turn turn = died.turn;
  const auto found = attempts_.find(turn);
  if (found == attempts_.end()) return;
  const std::string engine = found->second->engine();
  const bool speaks = turn == relay_.speaker();
  if (died.slow_reader) {
    ++counters_.slow_readers;
    return fail(std::move(died.error));
  }
  if (is_the_clients(died.status) && speaks && relay_.passed() == 0)
    return fail({Code::invalid_argument, std::move(died.error.message)});
  blame_death(end_of(died), died.error.message);
  const Next next = relay_.died(turn);
  carry_out();
  if (next == Next::want_place) return begin_elsewhere(engine, kind_of(died), died.error);
  fleet_.fault(engine, kind_of(died), died.error.message);
  follow(next);
}

void Conversation::begin_elsewhere(const std::string& engine, FaultKind kind, const Error& why) {
  end_move(false);
  give_up_order(MoveEnd::died, why.message);
  cut_all_but(kNoTurn, kNoTurn);
  if (!goes_on(why.message)) return;
  if (++tries_ >= options_.tries) {
    return fail({Code::unavailable, concat(why.message, "; given up after ", tries_, " attempts")});
  }
  place_until_ = Clock::now() + options_.place;
  id_ = fleet_.again(id_, engine, kind, why.message);
}

void Conversation::drop_attempts(const std::string& engine) {
  // The destination of a move before its source: nobody is to be asked whether it has all.
  const std::string why = concat("engine ", engine.empty() ? "memory" : engine, " is gone");
  const MoveEnd end = engine.empty() ? MoveEnd::dropped : MoveEnd::died;
  if (waits_ && (engine.empty() || waits_->order.engine->name == engine)) give_up_order(end, why);
  std::vector<Turn> turns;
  for (auto at = attempts_.rbegin(); at != attempts_.rend(); ++at) {
    if (engine.empty() || at->second->engine() == engine) turns.push_back(at->first);
  }
  for (const Turn turn : turns) {
    blame_death(end, why);
    const Next next = relay_.died(turn);
    carry_out();
    if (next == Next::want_place && move_ && move_->orphaned) {
      // The fleet may have found it a place already, which was not wanted then.
      return begin_elsewhere(engine, FaultKind::broke_off, {Code::unavailable, why});
    }
    follow(next);
    if (next != Next::want_place) continue;
    end_move(false);
    give_up_order(end, why);
    place_until_ = Clock::now() + options_.place;
    if (!goes_on(why)) return;
  }
  if (!over()) cut_all_but(relay_.speaker(), relay_.other());
}

void Conversation::look_at_clocks() {
  if (error_ || over()) return;
  const auto now = Clock::now();
  if (waits_ && now > waits_->until)
    give_up_order(MoveEnd::not_yet, "its answer did not begin in time");
  if (move_ && now > move_->until) {
    move_->kind == migration::Kind::kv ? look_at_kv_move() : follow(relay_.give_up());
  }
  if (resume_ && !resume_->under_way && now > resume_->at) {
    const Resume again = *std::exchange(resume_, std::nullopt);
    if (again.source == relay_.speaker()) resume(again.source, again.move);
  }
  if (relay_.phase() == Phase::idle && now > place_until_) {
    fail({Code::unavailable,
          concat("no engine had room for it within ", options_.place.count(), " ms")});
  }
}

}  // namespace aqua::router
