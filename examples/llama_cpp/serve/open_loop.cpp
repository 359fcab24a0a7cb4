// SPDX-License-Identifier: Apache-2.0
#include "open_loop.hpp"

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
                   RunLog& log)
    : engine_(engine), requests_(requests), log_(log) {
  auto made = schedule::make_scheduler(log.policy, log.scheduler);
  if (!made.ok()) throw Failure(made.error().message);
  scheduler_ = std::move(*made);
  for (unsigned slot = slots; slot-- > 0;) free_slots_.push_back(slot);
  for (const Asked& asked : requests) {
    log_.requests.push_back({.arrival = asked.arrival,
                             .prompt_tokens = static_cast<std::uint32_t>(asked.prompt.size()),
                             .output_tokens = asked.output_tokens});
  }
}

void OpenLoop::run(EngineClock::Kind clock) {
  clock_.emplace(clock);
  while (arrived_ < requests_.size() || !sequences_.empty()) {
    admit();
    double since = now();
    told(scheduler_->set_time(since));
    const schedule::Batch* batch = &scheduler_->next();
    while (page(*batch)) {
      since = now();
      batch = &scheduler_->next();
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

void OpenLoop::admit() {
  for (; arrived_ < requests_.size() && requests_[arrived_].arrival <= now(); ++arrived_) {
    const Asked& asked = requests_[arrived_];
    told(scheduler_->arrive({.id = schedule::SequenceId{arrived_},
                             .prompt_tokens = static_cast<std::uint32_t>(asked.prompt.size()),
                             .max_new_tokens = asked.output_tokens}));
    sequences_[arrived_].tokens = asked.prompt;
  }
}

bool OpenLoop::page(const schedule::Batch& batch) {
  if (!batch.moves()) return false;
  const schedule::Batch orders = batch;  // telling the scheduler ends it
  for (const schedule::Preemption& order : orders.preemptions) page_out(order);
  for (const schedule::PageIn& order : orders.page_ins) page_in(order);
  return true;
}

void OpenLoop::page_out(const schedule::Preemption& order) {
  Sequence& sequence = sequences_.at(number(order.id));
  if (order.how == schedule::Preemption::How::recompute) return leave(sequence);
  const double begin = now();
  sequence.parked = engine_.save(slot_of(sequence));
  leave(sequence);
  const double bytes = order.blocks * log_.scheduler.block_tokens * log_.kv_bytes_per_token;
  log_.copies.push_back({now() - begin, bytes, true});
  told(scheduler_->paged_out(order.id, Tier::host));
}

void OpenLoop::page_in(const schedule::PageIn& order) {
  Sequence& sequence = sequences_.at(number(order.id));
  const double begin = now();
  engine_.restore(slot_of(sequence), sequence.parked);
  sequence.parked = {};
  const double bytes = order.blocks * log_.scheduler.block_tokens * log_.kv_bytes_per_token;
  log_.copies.push_back({now() - begin, bytes, false});
  told(scheduler_->paged_in(order.id));
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
  if (++sequence.generated == 1) request.first_token = at;
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
