// SPDX-License-Identifier: Apache-2.0
// Moves whose bytes are copied, into segments of the keeper and out of them: what a pool needs
// nothing of. Copies run beside iterations; who waits for them looks at their tickets at the next
// boundary.
//
// Blocks are let go of only once no copy reads or writes them: an engine that gave them to another
// request before would hand over bytes of that one.
#include <algorithm>
#include <iterator>
#include <utility>

#include "must.hpp"
#include "serve/engine.hpp"

namespace aqua::fleet {
namespace {

using example::must;
using migration::DestinationState;

// Whether all have ended. A copy that failed counts as done: the carrier ends its parcel and says
// so.
bool are_done(const std::vector<Ticket>& copies) {
  return std::ranges::all_of(copies, [](const Ticket& copy) {
    const auto done = copy.done();
    return !done.ok() || *done;
  });
}

void await(std::vector<Ticket>& copies) {
  for (Ticket& copy : copies) (void)copy.wait();
  copies.clear();
}

// The tokens of a layout of whole blocks are its blocks.
KvRange blocks_from(std::uint32_t first, std::uint32_t end) {
  return {.tokens = {first, end - first}};
}

}  // namespace

void Engine::fill(Sequence& sequence, std::uint32_t blocks) {
  Source& source = *sequence.source;
  const std::uint32_t first = source.fills.empty() ? 0 : source.fills.back();
  if (blocks <= first) return;
  auto copy = cache_.carrier().fill(source.parcel, blocks_from(first, blocks), sequence.blocks,
                                    cache_.stream());
  if (!copy.ok() && its_delivery_tells(copy.error())) return;
  source.copies.push_back(must(std::move(copy), "fill"));
  source.fills.push_back(blocks);
  const std::lock_guard lock(mu_);
  ++status_.copies;
}

// Calls about a pool's parcel get to the keeper one behind another: nothing waits for its answers.
bool Engine::is_open(const Source& source) const {
  if (cache_.has_pool()) return true;
  const auto state = cache_.carrier().state(source.parcel);
  return state.ok() && *state == ParcelState::open;
}

bool Engine::has_copied(const Source& source) const {
  return cache_.has_pool() || (!source.copies.empty() && are_done(source.copies));
}

bool Engine::is_closed(const Source& source) const {
  if (cache_.has_pool()) return true;
  const auto state = cache_.carrier().state(source.parcel);
  return state.ok() && *state == ParcelState::closed;
}

void Engine::drop_source(Sequence& sequence) {
  std::erase_if(sequence.copies, [](const Ticket& copy) {
    const auto done = copy.done();
    return done.ok() && *done;
  });
  std::ranges::move(sequence.source->copies, std::back_inserter(sequence.copies));
  sequence.source.reset();
}

void Engine::await_copies(Sequence& sequence) {
  await(sequence.copies);
  if (sequence.source) await(sequence.source->copies);
}

bool Engine::copies_are_under_way() const {
  const auto fills = std::ranges::any_of(sequences_, [](const auto& entry) {
    return entry.second.source && !are_done(entry.second.source->copies);
  });
  return fills ||
         std::ranges::any_of(incoming_, [](const Incoming& one) { return !one.copies.empty(); });
}

// Room is promised for each request that waits for a parcel of this role's, and no more: what it
// has not used stays promised, and counts for the next one.
void Engine::admit(const std::string& from) {
  const auto waiting = std::ranges::count_if(incoming_, [&](const Incoming& one) {
    return one.asked.from == from && !one.move.over() && one.move.state() == DestinationState::room;
  });
  std::int64_t& admitted = admitted_[from];
  if (admitted >= waiting) return;
  const auto promised =
      cache_.carrier().admit(from, static_cast<std::uint32_t>(waiting - admitted));
  if (promised.ok()) admitted = waiting;  // else no parcel comes, and the router gives the move up
}

Result<void> Engine::begin_copies(Incoming& incoming, const std::vector<std::uint32_t>& fills) {
  const std::uint32_t count = cache_.blocks_for(incoming.parcel->tokens);
  auto blocks = cache_.try_take(count);
  if (!blocks) return Error{Code::resource_exhausted, "its blocks are not here"};
  incoming.sequence.blocks = *std::move(blocks);
  const BlockList into = incoming.sequence.blocks;
  std::uint32_t first = 0;
  for (const std::uint32_t end : fills) {  // before the first of them lands
    const KvRange range = blocks_from(std::exchange(first, end), end);
    const auto landable =
        cache_.carrier().check_landable(incoming.parcel->number, range, into, range);
    if (!landable.ok()) return landable;
  }
  first = 0;
  for (const std::uint32_t end : fills) {
    const KvRange range = blocks_from(std::exchange(first, end), end);
    auto copy = cache_.carrier().land(incoming.parcel->number, range, into, range, cache_.stream());
    if (!copy.ok()) return std::move(copy).error();
    incoming.copies.push_back(std::move(copy).value());
  }
  return {};
}

void Engine::go_on_landing() {
  for (Incoming& incoming : incoming_) {
    if (incoming.copies.empty() || !are_done(incoming.copies)) continue;
    Result<void> done;
    for (Ticket& copy : incoming.copies) {
      if (auto ended = copy.wait(); !ended.ok()) done = std::move(ended);
    }
    incoming.copies.clear();
    if (done.ok()) done = take_over(incoming);
    landed(incoming, done);
  }
}

// All is in its place: the source may let go of it once the router says so.
Result<void> Engine::take_over(Incoming& incoming) {
  const std::uint64_t number = incoming.parcel->number;
  if (auto confirmed = cache_.carrier().confirm(number); !confirmed.ok()) return confirmed;
  must(cache_.carrier().finish(number, cache_.stream()), "finish");
  incoming.parcel.reset();
  return {};
}

void Engine::await_copies(Incoming& incoming) {
  await(incoming.copies);
}

}  // namespace aqua::fleet
