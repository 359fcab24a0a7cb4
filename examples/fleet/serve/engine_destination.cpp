// SPDX-License-Identifier: Apache-2.0
// The engine as the destination of moves (docs/engine/migration.md).
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "must.hpp"
#include "serve/crossed.hpp"
#include "serve/engine.hpp"
#include "speech/told.hpp"

namespace aqua::fleet {
namespace {

using example::must;
using migration::DestinationCommand;
using migration::DestinationEvent;

// Room for what an answer may grow by until it is held, which is a few iterations: the first that
// fits. Whoever counts on the memory of this engine counts tokens that are there, so this is to be
// little beside them: an engine that is drained has all of its requests ask for room at once. The
// source holds the answer before it outgrows its room.
constexpr std::array<std::uint32_t, 2> kGrowth{32, 8};
// The same where it grows while it is copied.
constexpr std::array<std::uint32_t, 3> kCopiedGrowth{128, 32, 8};

Error senseless(const std::string& what) {
  return Error{Code::invalid_argument, "the note and the parcel do not agree: " + what};
}

}  // namespace

void Engine::receive(Arrival& arrival) {
  if (!cache_.has_carrier()) return arrival.out->say(failed_event(no_pool()), true);
  if (cache_.keeper_is_away()) return arrival.out->say(failed_event(no_keeper()), true);
  const Asked& asked = arrival.asked;
  if (!cache_.has_pool() && asked.from.empty())
    return arrival.out->say(failed_event({"refused", "it is not said whose parcel it is"}), true);
  const auto known = static_cast<std::uint32_t>(asked.prompt.size());
  const Reason no_room{"no_room", "it has no room"};
  // arrive() would refuse it once it is granted its turn. Nothing reads the KV of its last token.
  if (cache_.blocks_for(std::uint64_t{known} + asked.max_tokens - 1) > blocks_here())
    return arrival.out->say(failed_event(no_room), true);
  std::uint32_t room = 0, blocks = 0;
  const auto fits = [&](std::uint32_t growth) {
    room = known + std::min(growth, asked.max_tokens);
    blocks = cache_.blocks_for(room);
    set_capacity();
    const schedule::SchedulerStatus now = scheduler_->status();
    return now.device_blocks_held + blocks <= now.device_blocks;
  };
  using Growth = std::span<const std::uint32_t>;
  const Growth growth = cache_.has_pool() ? Growth(kGrowth) : Growth(kCopiedGrowth);
  if (!fits(growth.front())) kept_.drop_all();
  if (std::ranges::none_of(growth, fits)) return arrival.out->say(failed_event(no_room), true);
  rooms_ += blocks;
  arrival.out->say(reserved_event(room));
  incoming_.push_back({.asked = std::move(arrival.asked), .out = arrival.out, .room = blocks});
  if (!cache_.has_pool()) admit(incoming_.back().asked.from);
  steps_.reached("room");
}

// A request's own parcel comes under the turn of its attempt. Any other is of a move that is over,
// or nobody's.
void Engine::take_parcel(Parcel parcel) {
  if (!cache_.has_pool()) --admitted_[parcel.from];
  for (Incoming& incoming : incoming_) {
    const AttemptName& name = incoming.asked.name;
    const bool its =
        name.request == parcel.id && options_.cache.parcel_turn(name.turn) == parcel.given &&
        !incoming.move.over() && incoming.move.state() == migration::DestinationState::room;
    if (!its) continue;
    incoming.parcel = std::move(parcel);
    steps_.reached("taken");
    return tell(incoming, DestinationEvent::closed);
  }
  turn_away(parcel.number);
  if (!cache_.has_pool()) admit(parcel.from);  // it has used room that another may wait for
}

// Gives back a parcel that nobody here waits for. In a pool its giver hears the same as if it had
// been taken: it asks who is to speak, if it has to know.
void Engine::turn_away(std::uint64_t parcel) {
  Carrier& carrier = cache_.carrier();
  must(cache_.has_pool() ? carrier.finish(parcel, cache_.stream())
                         : carrier.decline(parcel, cache_.stream()),
       "finish");
}

void Engine::tell(Incoming& incoming, DestinationEvent event, const Reason& reason) {
  for (const DestinationCommand command : must(incoming.move.on(event), "move")) {
    switch (command) {
      case DestinationCommand::land:
        land(incoming);
        break;
      case DestinationCommand::confirm:
        incoming.out->say(confirmed_event(incoming.note.generated_tokens));
        steps_.reached("confirmed");
        break;
      case DestinationCommand::free:
        free_room(incoming);
        break;
      case DestinationCommand::report:
        incoming.out->say(failed_event(reason), true);
        break;
      case DestinationCommand::prefill:  // of moves by tokens, which come as requests
      case DestinationCommand::tell:
      case DestinationCommand::speak:  // grant() does
        break;
    }
  }
}

void Engine::free_room(Incoming& incoming) {
  rooms_ -= std::exchange(incoming.room, 0);
  await_copies(incoming);
  if (incoming.parcel) {
    turn_away(incoming.parcel->number);
    incoming.parcel.reset();
  }
  cache_.release(std::exchange(incoming.sequence.blocks, {}));
}

void Engine::land(Incoming& incoming) {
  const auto done = unpack(incoming);
  if (done.ok() && !incoming.copies.empty()) return;  // go_on_landing() tells
  landed(incoming, done);
}

void Engine::landed(Incoming& incoming, const Result<void>& done) {
  if (!done.ok()) {
    const bool keeper = done.error().code == Code::unavailable;
    return tell(incoming, DestinationEvent::failed,
                keeper ? no_keeper() : Reason{"refused", done.error().message});
  }
  steps_.reached("landed");
  tell(incoming, DestinationEvent::landed);
}

Result<void> Engine::unpack(Incoming& incoming) {
  if (cache_.keeper_is_away()) return Error{Code::unavailable, no_keeper().why};
  const Asked& asked = incoming.asked;
  const Parcel& parcel = *incoming.parcel;
  auto note = migration::decode(parcel.note, model_.name());
  if (!note.ok()) return std::move(note).error();
  const auto crossed = crossed_of(note->engine_state, !cache_.has_pool());
  if (!crossed) return senseless("the source's words");
  std::vector<Token> tokens = asked.prompt;
  tokens.insert(tokens.end(), crossed->ids.begin(), crossed->ids.end());
  if (note->kind != migration::Kind::kv || note->kv_tokens != parcel.tokens)
    return senseless("of which tokens the KV is here");
  if (note->prompt_tokens + asked.answered != asked.prompt.size() ||
      std::size_t{note->prompt_tokens} + note->generated_tokens != tokens.size() ||
      tokens.back() != note->pending_token)
    return senseless("its ids");
  const std::size_t blocks =
      cache_.has_pool() ? parcel.blocks.size() : std::size_t{crossed->fills.back()};
  if (blocks != cache_.blocks_for(parcel.tokens) ||
      cache_.blocks_for(tokens.size()) > incoming.room)
    return senseless("its blocks");
  incoming.note = std::move(note).value();
  incoming.sequence = {
      .name = asked.name,
      .out = incoming.out,
      .tokens = std::move(tokens),
      .prompt = incoming.note.prompt_tokens,
      .least = asked.answered + asked.min_tokens,
      // An answer without a limit has that of the engine that it is on.
      .most = std::min(incoming.note.max_new_tokens, asked.answered + asked.max_tokens),
      .sampler = incoming.note.sampler};
  return cache_.has_pool() ? take_blocks(incoming) : begin_copies(incoming, crossed->fills);
}

// One more part in each block of the parcel, and a copy of the last where it is partly filled.
Result<void> Engine::take_blocks(Incoming& incoming) {
  const Parcel& parcel = *incoming.parcel;
  const std::uint32_t full = parcel.tokens / options_.cache.tokens_per_block;
  Blocks blocks(parcel.blocks.begin(), parcel.blocks.begin() + full);
  std::optional<std::uint32_t> tail;
  if (full < parcel.blocks.size()) {
    tail = cache_.copy_of(parcel.blocks[full]);
    if (!tail) return Error{Code::unavailable, no_keeper().why};
  }
  if (full > 0) must(cache_.pool().share(blocks), "share");
  if (tail) blocks.push_back(*tail);
  must(cache_.pool().finish(parcel.number, cache_.stream()), "finish");
  incoming.parcel.reset();
  incoming.sequence.blocks = std::move(blocks);
  incoming.sequence.shared = full;
  return {};
}

void Engine::grant(Incoming& incoming, migration::Position from) {
  const migration::MigrationNote& note = incoming.note;
  if (incoming.move.state() != migration::DestinationState::ready) return;
  if (from < incoming.asked.answered || from > note.generated_tokens)
    return tell(incoming, DestinationEvent::failed,
                {"refused", "it was granted a position that it has not"});
  rooms_ -= std::exchange(incoming.room, 0);
  const SequenceId id{++last_};
  const auto arrived = arrive({.id = id,
                               .prompt_tokens = note.prompt_tokens,
                               .max_new_tokens = incoming.sequence.most,
                               .generated_tokens = note.generated_tokens,
                               .cached_tokens = note.kv_tokens,
                               .cached_in = Tier::local});
  if (!arrived.ok())
    return tell(incoming, DestinationEvent::failed, {"no_room", arrived.error().message});
  tell(incoming, DestinationEvent::granted);
  steps_.reached("granted");
  Sequence& sequence = sequences_.emplace(id, std::move(incoming.sequence)).first->second;
  for (std::size_t at = sequence.prompt + from; at < sequence.tokens.size(); ++at)
    say(sequence, at, "");
  const std::lock_guard lock(mu_);
  ++status_.moved_in;
}

}  // namespace aqua::fleet
