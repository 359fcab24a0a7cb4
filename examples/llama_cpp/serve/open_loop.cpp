// SPDX-License-Identifier: Apache-2.0
#include "open_loop.hpp"

#include <algorithm>
#include <utility>

#include "must.hpp"

namespace aqua::llama_example {

using example::Failure;

namespace {

std::uint64_t number(schedule::SequenceId id) {
  return static_cast<std::uint64_t>(id);
}

void told(const Result<void>& result) {
  if (!result.ok()) throw Failure(result.error().message);
}

}  // namespace

OpenLoop::OpenLoop(BatchEngine& engine, unsigned slots, const std::vector<Asked>& requests,
                   const SwapSpace& swap, RunLog& log)
    : engine_(engine), requests_(requests), swap_(swap), log_(log) {
  log_.scheduler.swap_blocks = swap.blocks;
  log_.scheduler.swap_tier = swap.tier;
  auto made = schedule::make_scheduler(log.policy, log.scheduler);
  if (!made.ok()) throw Failure(made.error().message);
  scheduler_ = std::move(*made);
  sharing_ = scheduler_->status().sharing;
  for (unsigned slot = slots; slot-- > 0;) free_slots_.push_back(slot);
  for (const Asked& asked : requests) {
    longest_answer_ = std::max(longest_answer_, asked.output_tokens);
    log_.requests.push_back({.arrival = asked.arrival,
                             .prompt_tokens = static_cast<std::uint32_t>(asked.prompt.size()),
                             .output_tokens = asked.output_tokens});
  }
}

void OpenLoop::run(EngineClock::Kind clock) {
  clock_.emplace(clock);
  while (arrived_ < requests_.size() || !sequences_.empty()) {
    admit();
    double since = tell_time();
    const schedule::Batch* batch = &scheduler_->next();
    note_sharing(since);
    while (page(*batch)) {
      since = tell_time();  // or the copies would count as part of the iteration
      batch = &scheduler_->next();
      note_sharing(since);
    }
    if (batch->computes()) {
      compute(*batch, since);
    } else if (arrived_ < requests_.size()) {
      clock_->idle_until(requests_[arrived_].arrival);
    } else {
      throw Failure("the scheduler has nothing for the engine to do");
    }
  }
}

double OpenLoop::tell_time() {
  const double at = now();
  told(scheduler_->set_time(at));
  return at;
}

void OpenLoop::note_sharing(double at) {
  const schedule::SchedulerStatus status = scheduler_->status();
  if (status.sharing == std::exchange(sharing_, status.sharing)) return;
  log_.switches.push_back({at, status.sharing, why(status)});
}

std::uint32_t OpenLoop::limit_of(const Asked& asked) const {
  if (scheduler_->name() != "auto") return asked.output_tokens;
  const std::size_t device =
      std::size_t{log_.scheduler.device_blocks} * log_.scheduler.block_tokens;
  const std::size_t beside = device - std::min(device, asked.prompt.size());
  return std::max(asked.output_tokens,
                  static_cast<std::uint32_t>(std::min<std::size_t>(longest_answer_, beside)));
}

void OpenLoop::admit() {
  for (; arrived_ < requests_.size() && requests_[arrived_].arrival <= now(); ++arrived_) {
    const Asked& asked = requests_[arrived_];
    schedule::Request request{.id = schedule::SequenceId{arrived_},
                              .prompt_tokens = static_cast<std::uint32_t>(asked.prompt.size()),
                              .max_new_tokens = limit_of(asked)};
    log_.requests[arrived_].told_tokens = request.max_new_tokens;
    if (swap_.prefixes != nullptr) {
      const prefix::PrefixMatch hit = swap_.prefixes->match(asked.prompt);
      request.cached_tokens = static_cast<std::uint32_t>(hit.tokens);
      if (hit.tokens > 0) request.cached_in = hit.slowest;
    }
    told(scheduler_->arrive(request));
    Sequence& sequence = sequences_[arrived_];
    sequence.tokens = asked.prompt;
    sequence.cached = request.cached_tokens;
  }
}

void OpenLoop::share_swap_space() {
  if (swap_.prefixes == nullptr) return;
  const std::uint32_t held = scheduler_->status().swap_blocks_held;
  const std::size_t tokens =
      std::size_t{swap_.blocks - std::min(swap_.blocks, held)} * log_.scheduler.block_tokens;
  swap_.prefixes->cache().set_capacity(tokens / swap_.prefixes->block_tokens());
}

bool OpenLoop::page(const schedule::Batch& batch) {
  if (!batch.moves()) return false;
  const schedule::Batch orders = batch;  // telling the scheduler ends it
  share_swap_space();                    // what it has ordered out is counted as held
  for (const schedule::Preemption& order : orders.preemptions) page_out(order);
  for (const schedule::PageIn& order : orders.page_ins) page_in(order);
  return true;
}

void OpenLoop::page_out(const schedule::Preemption& order) {
  Sequence& sequence = sequences_.at(number(order.id));
  if (order.how == schedule::Preemption::How::recompute) return leave(sequence);
  const double begin = now();
  const auto id = static_cast<unsigned>(number(order.id));
  const auto parked = swap_.parking.park(
      {id, slot_of(sequence), sequence.tokens, order.to == Tier::host && swap_.tier == Tier::peer});
  if (!parked.ok()) {
    return told(scheduler_->copy_failed(order.id));  // room enough, but in pieces: it stays
  }
  leave(sequence);
  const double bytes = order.blocks * log_.scheduler.block_tokens * log_.kv_bytes_per_token;
  log_.copies.push_back({now() - begin, bytes, true});
  told(scheduler_->paged_out(order.id, *parked));
}

void OpenLoop::page_in(const schedule::PageIn& order) {
  Sequence& sequence = sequences_.at(number(order.id));
  if (sequence.cached > 0) return fetch_prefix(order.id);
  const double begin = now();
  const auto id = static_cast<unsigned>(number(order.id));
  const Tier from = swap_.parking.resume({id, slot_of(sequence), sequence.tokens});
  const double bytes = order.blocks * log_.scheduler.block_tokens * log_.kv_bytes_per_token;
  log_.copies.push_back({now() - begin, bytes, false});
  costs_.came_back(*scheduler_, from, order.blocks, log_.copies.back().seconds);
  (void)tell_time();
  told(scheduler_->paged_in(order.id));
}

void OpenLoop::fetch_prefix(schedule::SequenceId id) {
  Sequence& sequence = sequences_.at(number(id));
  const std::uint32_t promised = std::exchange(sequence.cached, 0);
  if (swap_.lose_hits && ++fetches_ % 2 == 0) swap_.prefixes->forget(requests_[number(id)].prompt);
  const double begin = now();
  const prefix::PrefixMatch got =
      swap_.prefixes->fetch(engine_, slot_of(sequence), requests_[number(id)].prompt, promised);
  use_.fetch_seconds += now() - begin;
  if (got.tokens < promised) {
    leave(sequence);
    ++use_.lost_hits;
    return told(scheduler_->lost(id));
  }
  ++(got.slowest == Tier::host ? use_.hits_in_host : use_.hits_in_peer);
  use_.hit_tokens += got.tokens;
  log_.requests[number(id)].cached_tokens = promised;
  log_.copies.push_back({now() - begin, promised * log_.kv_bytes_per_token, false});
  (void)tell_time();
  told(scheduler_->paged_in(id));
}

void OpenLoop::store_prefix(std::uint64_t id) {
  if (swap_.prefixes == nullptr) return;
  const double begin = now();
  share_swap_space();
  use_.stored_blocks +=
      swap_.prefixes->store(engine_, slot_of(sequences_.at(id)), requests_[id].prompt);
  use_.store_seconds += now() - begin;
}

void OpenLoop::compute(const schedule::Batch& proposed, double since) {
  const schedule::Batch batch = proposed;
  LoggedIteration log{.tokens = batch.tokens()};
  std::vector<std::uint64_t> answered;
  engine_.begin();
  for (const schedule::SequenceId id : batch.decodes) {
    Sequence& s = sequences_.at(number(id));
    const auto past = static_cast<unsigned>(s.tokens.size() - 1);
    engine_.add(slot_of(s), past, std::span(s.tokens).last(1), true);
    log.kv_tokens += s.tokens.size();
    log.batch_kv += static_cast<double>(s.tokens.size());
    answered.push_back(number(id));
  }
  for (const schedule::PrefillChunk& chunk : batch.prefills) {
    Sequence& s = sequences_.at(number(chunk.id));
    engine_.add(slot_of(s), chunk.first, std::span(s.tokens).subspan(chunk.first, chunk.tokens),
                chunk.last);
    log.batch_kv += chunk.first + chunk.tokens;
    log.pairs += chunk.tokens * (chunk.first + (chunk.tokens + 1.0) / 2);
    if (chunk.last) answered.push_back(number(chunk.id));
  }
  const std::vector<Token> next = engine_.run();
  told(scheduler_->commit());
  log.rows = next.size();
  const double end = now();
  for (std::size_t i = 0; i < next.size(); ++i) take(answered[i], next[i], end);
  log.seconds = now() - since;
  log_.iterations.push_back(log);
}

void OpenLoop::take(std::uint64_t id, Token token, double at) {
  Sequence& sequence = sequences_.at(id);
  LoggedRequest& request = log_.requests[id];
  sequence.tokens.push_back(token);
  request.answer.push_back(token);
  if (++sequence.generated == 1) {
    request.first_token = at;
    store_prefix(id);
  }
  if (sequence.generated < request.output_tokens) return;
  request.end = at;
  leave(sequence);
  sequences_.erase(id);
  told(scheduler_->finish(schedule::SequenceId{id}));
}

unsigned OpenLoop::slot_of(Sequence& sequence) {
  if (!sequence.slot) {
    if (free_slots_.empty()) throw Failure("more sequences at once than llama.cpp was opened for");
    sequence.slot = free_slots_.back();
    free_slots_.pop_back();
  }
  return *sequence.slot;
}

void OpenLoop::leave(Sequence& sequence) {
  if (!sequence.slot) return;
  engine_.drop(*sequence.slot);
  free_slots_.push_back(*sequence.slot);
  sequence.slot.reset();
}

}  // namespace aqua::llama_example
