// SPDX-License-Identifier: Apache-2.0
// Orders, news of the pool, and the engine as the source of moves (docs/engine/migration.md).
#include <algorithm>
#include <cstdio>
#include <utility>

#include "must.hpp"
#include "serve/crossed.hpp"
#include "serve/engine.hpp"
#include "speech/told.hpp"

namespace aqua::fleet {
namespace {

using example::must;
using migration::DestinationEvent;
using migration::SourceCommand;
using migration::SourceEvent;
using migration::SourceState;
using schedule::SequenceState;

constexpr std::size_t kMostParcels = 64;
// Ids that the destination has not been told cross in the note, which is bounded: it is no move for
// an answer that has more of them, however much room there is.
constexpr std::uint64_t kMostIdsInNote = 512;

// Why a move cannot begin: its prompt is still computed, or the answer has outgrown its room.
Reason reason_of(const Error& error) {
  return {error.code == Code::resource_exhausted ? "outgrown" : "not_yet", error.message};
}

// Why the source asks who is to speak, by what made it ask; nullopt: it knows nothing.
std::optional<Reason> reason_to_ask(SourceEvent event) {
  switch (event) {
    case SourceEvent::destination_died:
      return fleet::reason_of(migration::Stays::destination_died);
    case SourceEvent::timed_out:
      return fleet::reason_of(migration::Stays::timed_out);
    case SourceEvent::lost:
      return fleet::reason_of(migration::Stays::lost);
    default:
      return std::nullopt;
  }
}

}  // namespace

void Engine::handle(Ordered& ordered) {
  const Order& order = ordered.order;
  const auto sequence = std::find_if(sequences_.begin(), sequences_.end(), [&](const auto& entry) {
    return entry.second.name == order.name;
  });
  const auto incoming = std::find_if(incoming_.begin(), incoming_.end(), [&](const Incoming& one) {
    return one.asked.name == order.name && !one.move.over();
  });
  const bool here = sequence != sequences_.end();
  ordered.known->set_value(here || incoming != incoming_.end());
  const bool moves = here && sequence->second.source.has_value();
  switch (order.what) {
    case Order::What::move:
      if (here) begin_move(sequence->first, order);
      return;
    case Order::What::resume:
      if (here) resume(sequence->first, order.move);
      return;
    case Order::What::abandon:
      if (moves) tell(sequence->first, SourceEvent::destination_died);
      return;
    case Order::What::hurry:
      if (moves) tell(sequence->first, SourceEvent::timed_out);
      return;
    case Order::What::grant:
      if (incoming != incoming_.end()) grant(*incoming, order.position);
      return;
    case Order::What::source_died:
      if (incoming != incoming_.end())
        tell(*incoming, DestinationEvent::source_died,
             {"died", "its source died before all was here"});
      return;
    case Order::What::sweep:
      return;  // carried out by order()
  }
}

void Engine::handle(PoolNews& /*news*/) {
  Carrier& carrier = cache_.carrier();
  for (const Delivery& delivery : carrier.deliveries()) heard(delivery);
  (void)carrier.superseded();  // what was taken is finished as soon as it has landed
  for (Parcel& parcel : carrier.accept(kMostParcels)) take_parcel(std::move(parcel));
}

std::uint32_t Engine::computed(SequenceId id) const {
  return must(scheduler_->sequence(id), "sequence").computed_tokens;
}

void Engine::begin_move(SequenceId id, const Order& order) {
  Sequence& sequence = sequences_.at(id);
  if (order.move <= sequence.over) return;  // the router gave it up before it came here
  const auto refuse = [&](const Reason& reason) { sequence.out->say(reported_event(reason)); };
  if (!cache_.has_carrier()) return refuse(no_pool());
  if (cache_.keeper_is_away()) return refuse(no_keeper());
  if (sequence.source) return refuse({"not_yet", "it moves already"});
  if (order.answered > sequence.answer())
    return refuse({"refused", "the destination was told what was not said"});
  const auto status = must(scheduler_->sequence(id), "sequence");
  if (status.state != SequenceState::resident) return refuse(reason_of(migration::Stays::prefill));
  const std::uint64_t crosses = sequence.prompt + order.answered + kMostIdsInNote;
  const auto room = static_cast<std::uint32_t>(std::min<std::uint64_t>(order.room_tokens, crosses));
  auto move = migration::SourceMove::begin({.prompt_tokens = status.prompt_tokens,
                                            .computed_tokens = status.computed_tokens,
                                            .generated_tokens = status.generated_tokens},
                                           {.kind = migration::Kind::kv,
                                            .room_tokens = room,
                                            .block_tokens = options_.cache.tokens_per_block,
                                            .little_tokens = options_.cache.tokens_per_block});
  if (!move.ok()) return refuse(reason_of(move.error()));
  const ParcelHead head{sequence.name.request, options_.cache.parcel_turn(order.move)};
  const auto parcel = cache_.carrier().open(head, order.to);
  if (!parcel.ok()) return refuse({"refused", parcel.error().message});
  parcels_[*parcel] = head;
  sequence.source = Source{.move = std::move(move).value(),
                           .parcel = *parcel,
                           .turn = sequence.name.turn,
                           .number = order.move,
                           .answered = order.answered};
}

void Engine::resume(SequenceId id, migration::Turn over) {
  Sequence& sequence = sequences_.at(id);
  sequence.over = std::max(sequence.over, over);
  if (sequence.source && (over == 0 || sequence.source->number <= over))
    tell(id, SourceEvent::resumed);
}

// What a pool shares has crossed, and a hold begins at once: each is told at the same boundary.
// Copies are looked at once an iteration.
void Engine::go_on_with_moves() {
  std::vector<SequenceId> moving;
  for (const auto& [id, sequence] : sequences_) {
    if (sequence.source) moving.push_back(id);
  }
  for (const SequenceId id : moving) go_on_with_move(id);
  go_on_landing();
  std::erase_if(incoming_, [](const Incoming& one) { return one.move.over(); });
}

void Engine::go_on_with_move(SequenceId id) {
  const auto moves = [&] { return sequences_.contains(id) && sequences_.at(id).source; };
  const auto source = [&]() -> Source& { return *sequences_.at(id).source; };
  const auto is = [&](SourceState state) { return moves() && source().move.state() == state; };
  if (is(SourceState::reserving) && is_open(source())) {
    steps_.reached("reserved");
    tell(id, SourceEvent::reserved);
  }
  while (is(SourceState::copying) && has_copied(source())) tell(id, SourceEvent::copied);
  if (is(SourceState::copying)) {
    for (const migration::SourceOrder& order : source().move.grew(computed(id)))
      carry_out(id, order, SourceEvent::outgrown);
  }
  if (is(SourceState::holding) && must(scheduler_->sequence(id), "held").held) {
    steps_.reached("held");
    tell(id, SourceEvent::held);
  }
  if (is(SourceState::closing) && is_closed(source())) {
    tell(id, SourceEvent::closed);
    steps_.reached("handed");
  }
}

void Engine::tell(SequenceId id, SourceEvent event) {
  Sequence& sequence = sequences_.at(id);
  const auto orders = must(sequence.source->move.on(event, computed(id)), "move");
  for (const migration::SourceOrder& order : orders) carry_out(id, order, event);
  if (const auto found = sequences_.find(id); found != sequences_.end()) {
    if (found->second.source && found->second.source->move.over()) drop_source(found->second);
  }
}

void Engine::carry_out(SequenceId id, const migration::SourceOrder& order, SourceEvent event) {
  Sequence& sequence = sequences_.at(id);
  switch (order.what) {
    case SourceCommand::copy:
      hand_over(sequence, cache_.blocks_for(order.range.first + order.range.count));
      return steps_.reached("copied");
    case SourceCommand::hold:
      return must(scheduler_->hold(id), "hold");
    case SourceCommand::close:
      return close(id);
    case SourceCommand::withdraw:
      if (!parcels_.contains(sequence.source->parcel)) return;
      if (sequence.source->closed) return watch_->sweep(parcels_.at(sequence.source->parcel));
      return recall(sequence);
    case SourceCommand::release:
      return release(id);
    case SourceCommand::ask:
      steps_.reached("asking");
      return sequence.out->say(
          asked_event(cache_.keeper_is_away() ? no_keeper() : reason_to_ask(event)));
    case SourceCommand::free:
      return depart(id);
    case SourceCommand::report:
      return sequence.out->say(reported_event(
          cache_.keeper_is_away() ? no_keeper() : reason_of(sequence.source->move.reason())));
  }
}

// An open parcel that cannot be recalled is ended by its name, as one that is closed.
void Engine::recall(Sequence& sequence) {
  const auto recalled = cache_.carrier().recall(sequence.source->parcel);
  if (recalled.ok() || its_delivery_tells(recalled.error())) return;
  std::fprintf(stderr, "engine: %s: recall: %s\n", sequence.name.request.c_str(),
               recalled.error().message.c_str());
  watch_->sweep(parcels_.at(sequence.source->parcel));
  const std::lock_guard lock(mu_);
  ++status_.recalls_refused;
}

void Engine::hand_over(Sequence& sequence, std::uint32_t blocks) {
  if (!cache_.has_pool()) return fill(sequence, blocks);
  if (blocks <= sequence.shared) return;
  const auto more = BlockList(sequence.blocks).subspan(sequence.shared, blocks - sequence.shared);
  must(cache_.pool().share(more), "share");
  sequence.shared = blocks;
}

void Engine::close(SequenceId id) {
  Sequence& sequence = sequences_.at(id);
  Source& source = *sequence.source;
  const std::uint32_t kv = computed(id);
  const auto unknown = std::span(sequence.tokens).subspan(sequence.prompt + source.answered);
  const migration::MigrationNote note{
      .kind = migration::Kind::kv,
      .turn = source.turn,
      .prompt_tokens = sequence.prompt,
      .generated_tokens = sequence.answer(),
      .kv_tokens = kv,
      .max_new_tokens = sequence.most,
      .pending_token = sequence.tokens.back(),
      .sampler = sequence.sampler,
      .model = model_.name(),
      .engine_state = cache_.has_pool() ? state_of(unknown) : state_of(source.fills, unknown)};
  const auto closed =
      cache_.carrier().close(source.parcel, BlockList(sequence.blocks).first(cache_.blocks_for(kv)),
                             kv, must(migration::encode(note), "note"), cache_.stream());
  if (!closed.ok() && its_delivery_tells(closed.error())) return;
  must(closed, "close");
  source.closed = true;
}

// Another engine may read its last block by now, so that it goes on in a copy. Where the keeper is
// away and no block is left for a copy, its KV is dropped and computed again.
void Engine::release(SequenceId id) {
  Sequence& sequence = sequences_.at(id);
  const std::uint32_t full = computed(id) / options_.cache.tokens_per_block;
  if (full < sequence.shared) {
    std::uint32_t& tail = sequence.blocks.at(full);
    const std::optional<std::uint32_t> copy = cache_.copy_of(tail);
    if (!copy) {
      drop_kv(sequence);
      return must(scheduler_->lost(id), "lost");  // ends the hold, too
    }
    cache_.release({std::exchange(tail, *copy)});
    sequence.shared = full;
  }
  must(scheduler_->release(id), "release");
}

void Engine::depart(SequenceId id) {
  sequences_.at(id).out->say({}, true);
  must(scheduler_->depart(id), "depart");
  end(id);
}

void Engine::heard(const Delivery& delivery) {
  const auto found = parcels_.find(delivery.number);
  if (found == parcels_.end()) return;
  watch_->settled(found->second);
  parcels_.erase(found);
  if (delivery.outcome == Delivery::Outcome::confirmed) return;
  for (auto& [number, sequence] : sequences_) {
    if (!sequence.source || sequence.source->parcel != delivery.number) continue;
    return tell(number, SourceEvent::destination_died);  // nobody will have it
  }
}

}  // namespace aqua::fleet
