// SPDX-License-Identifier: Apache-2.0
// Requests and iterations. Moves are in engine_source.cpp and engine_destination.cpp, lending in
// engine_lending.cpp, what a keeper's death changes in engine_keeper.cpp.
#include "serve/engine.hpp"

#include <algorithm>
#include <utility>

#include "must.hpp"

namespace aqua::fleet {
namespace {

using example::must;
using migration::SourceEvent;

// Nobody is preempted for fairness; who finds no memory is computed again.
std::unique_ptr<schedule::Scheduler> scheduler_of(const Options& options) {
  return must(schedule::make_scheduler("fcfs", {.budget_tokens = options.budget_tokens,
                                                .block_tokens = options.cache.tokens_per_block,
                                                .device_blocks = options.blocks,
                                                .swap_blocks = 0,
                                                .preempt_by = schedule::PreemptBy::recompute}),
              "scheduler");
}

}  // namespace

Engine::Engine(Runtime& runtime, Inbox& inbox, Model& model, const Options& options)
    : options_(options),
      model_(model),
      cache_(runtime, options_.cache, model),
      scheduler_(scheduler_of(options_)),
      kept_(cache_, options_.blocks / 4),
      steps_(options_.step, options_.stop ? SIGSTOP : SIGKILL),
      inbox_(inbox),
      pool_blocks_(options_.blocks) {
  status_.blocks = options_.blocks;
  if (cache_.has_carrier()) watch_.emplace(cache_, options_.cache, inbox_);
  thread_ = std::thread([this] {
    std::string why;
    try {
      run();
    } catch (const example::Failure& failure) {
      why = failure.what();
    }
    inbox_.close();
    failed_.set_value(why);
  });
}

Engine::~Engine() {
  inbox_.close();
  thread_.join();
  watch_.reset();
}

std::string Engine::wait() {
  return failed_.get_future().get();
}

std::shared_ptr<Outbox> Engine::submit(Asked asked) {
  auto out = std::make_shared<Outbox>();
  inbox_.post(Arrival{std::move(asked), out});
  return out;
}

void Engine::hang_up(const std::shared_ptr<Outbox>& out) {
  inbox_.post(Hangup{out});
}

Result<void> Engine::order(Order order) {
  if (order.what == Order::What::sweep) {
    if (options_.cache.keeper.empty()) return {};  // nothing waits anywhere
    const auto sweep = [&] {
      return cancel_parcel(options_.cache.pool, order.name.request, options_.cache.keeper,
                           options_.cache.parcel_turn(order.name.turn));
    };
    auto swept = sweep();
    while (swept.ok()) swept = sweep();  // until nothing is left that could be
    if (swept.error().code == Code::not_found) return {};
    // Parcels end with their keeper, also where it has a disk. A new keeper at the same address
    // would have answered.
    if (swept.error().code == Code::unavailable && status().keeper_away) return {};
    return swept;
  }
  auto known = std::make_shared<std::promise<bool>>();
  auto answer = known->get_future();
  inbox_.post(Ordered{std::move(order), known});
  known.reset();  // where the inbox is closed, the promise breaks
  try {
    if (answer.get()) return {};
  } catch (const std::future_error&) {
    return Error{Code::unavailable, "the engine has failed"};
  }
  return Error{Code::not_found, "no such attempt is here"};
}

EngineStatus Engine::status() const {
  const std::lock_guard lock(mu_);
  return status_;
}

void Engine::tell_status() {
  const schedule::SchedulerStatus now = scheduler_->status();
  const std::lock_guard lock(mu_);
  status_.scheduler = now;
  status_.rooms = rooms_;
  status_.kept = kept_.blocks();
  status_.keeper_away = cache_.keeper_is_away();
  status_.why_away = watch_ ? watch_->why_away() : "";
  status_.requests = sequences_.size() + incoming_.size() + waking_.size();
  status_.in_moves = now.held + incoming_.size();
  if (OwnBlocks* own = cache_.own()) status_.lent_bytes = own->lent_bytes();
}

// Every call of the scheduler but next() and commit() is made here or by take_news(): between them.
void Engine::run() {
  while (!inbox_.closed()) {
    take_news();
    go_on_waking();
    go_on_with_moves();
    rejoin();
    tell_status();
    const schedule::Batch batch = scheduler_->next();
    for (const schedule::Preemption& order : batch.preemptions) preempt(order);
    bool changed = batch.moves();
    if (!batch.too_large.empty() && kept_.blocks() > 0) {
      kept_.drop_all();  // they may fit now
      changed = true;
    } else {
      for (const SequenceId id : batch.too_large) changed |= refuse_if_too_large(id);
    }
    // A long prefix is kept for as long as nobody wants its room.
    if (kept_.is_beyond_limit() &&
        (!batch.preemptions.empty() || scheduler_->status().waiting > 0)) {
      kept_.drop_all();
      changed = true;
    }
    if (batch.computes()) {
      compute(batch);
    } else if (!changed) {
      rest();
    }
  }
}

bool Engine::refuse_if_too_large(SequenceId id) {
  const Sequence& sequence = sequences_.at(id);
  if (cache_.blocks_for(sequence.tokens.size()) <= blocks_here()) return false;
  sequence.out->refuse("larger than this engine's KV memory");
  must(scheduler_->finish(id), "finish");
  end(id);
  return true;
}

void Engine::take_news() {
  for (News& news : inbox_.take()) std::visit([this](auto& one) { handle(one); }, news);
  PoolNews looked;  // the engine itself waits for blocks at times, and takes the news
  if (cache_.has_carrier()) handle(looked);
  set_capacity();
}

void Engine::set_capacity() {
  const std::uint32_t taken = rooms_ + kept_.blocks(), here = blocks_here();
  scheduler_->set_device_blocks(here - std::min(taken, here));
}

void Engine::handle(Arrival& arrival) {
  if (arrival.asked.receive) return receive(arrival);
  has_to_wait(arrival.asked) ? wake(arrival) : begin(arrival);
}

Result<void> Engine::arrive(const schedule::Request& request) {
  scheduler_->set_device_blocks(blocks_here());
  auto arrived = scheduler_->arrive(request);
  set_capacity();
  return arrived;
}

void Engine::begin(Arrival& arrival) {
  Asked& asked = arrival.asked;
  const auto known = static_cast<std::uint32_t>(asked.prompt.size());
  auto kept = kept_.take(asked.prompt);
  const std::uint32_t cached =
      kept ? std::min<std::uint32_t>(static_cast<std::uint32_t>(kept->tokens.size()), known) : 0;
  schedule::Request request{.id = SequenceId{++last_},
                            .prompt_tokens = known - asked.answered,
                            .max_new_tokens = asked.answered + asked.max_tokens,
                            .generated_tokens = asked.answered,
                            .cached_tokens = cached,
                            .cached_in = Tier::local};
  auto arrived = arrive(request);
  if (!arrived.ok() && kept) {
    cache_.release(kept->blocks);
    kept.reset();
    request.cached_tokens = 0;
    arrived = arrive(request);
  }
  if (!arrived.ok()) return arrival.out->refuse(arrived.error().message);
  Sequence sequence{.name = asked.name,
                    .out = arrival.out,
                    .tokens = std::move(asked.prompt),
                    .prompt = known - asked.answered,
                    .least = asked.answered + asked.min_tokens,
                    .most = asked.answered + asked.max_tokens,
                    .sampler = asked.sampler,
                    .ahead = asked.max_tokens == 1};
  if (kept) sequence.blocks = std::move(kept->blocks);
  sequences_.emplace(request.id, std::move(sequence));
}

void Engine::handle(Hangup& gone) {
  std::erase_if(waking_, [&](const Waking& one) { return one.arrival.out == gone.out; });
  for (auto& [id, sequence] : sequences_) {
    if (sequence.out != gone.out) continue;
    if (sequence.source && !sequence.source->move.over()) {
      tell(id, SourceEvent::cancelled);
      return;
    }
    must(scheduler_->depart(id), "depart");
    return end(id);
  }
  for (Incoming& incoming : incoming_) {
    if (incoming.out == gone.out) return tell(incoming, migration::DestinationEvent::cancelled);
  }
}

void Engine::preempt(const schedule::Preemption& order) {
  Sequence& sequence = sequences_.at(order.id);
  drop_kv(sequence);
  if (sequence.source && !sequence.source->move.over()) tell(order.id, SourceEvent::lost);
}

void Engine::drop_kv(Sequence& sequence) {
  await_copies(sequence);
  cache_.release(sequence.blocks);
  sequence.blocks.clear();
  sequence.shared = 0;
}

void Engine::end(SequenceId id) {
  const auto found = sequences_.find(id);
  await_copies(found->second);
  cache_.release(found->second.blocks);
  sequences_.erase(found);
}

void Engine::compute(const schedule::Batch& batch) {
  const auto length = [this](SequenceId id) {
    return static_cast<std::uint32_t>(sequences_.at(id).tokens.size());
  };
  const auto missing = [this](SequenceId id, std::uint32_t tokens) {
    const std::size_t blocks = cache_.blocks_for(tokens), here = sequences_.at(id).blocks.size();
    return blocks - std::min(blocks, here);
  };
  std::size_t wanted_blocks = 0;
  for (const SequenceId id : batch.decodes) wanted_blocks += missing(id, length(id));
  for (const schedule::PrefillChunk& chunk : batch.prefills)
    wanted_blocks += missing(chunk.id, chunk.first + chunk.tokens);
  const auto more = cache_.try_take(wanted_blocks);
  if (!more) return count_blocks();
  auto next_block = more->begin();

  std::vector<Work> work;
  std::vector<SequenceId> wanting;
  const auto add = [&](SequenceId id, std::uint32_t first, std::uint32_t count, bool wanted) {
    Sequence& sequence = sequences_.at(id);
    for (std::size_t left = missing(id, first + count); left > 0; --left)
      sequence.blocks.push_back(*next_block++);
    work.push_back({.tokens = std::span(sequence.tokens).subspan(first, count),
                    .first = first,
                    .blocks = sequence.blocks,
                    .sampler = sequence.sampler,
                    .wanted = wanted,
                    .may_end = sequence.answer() >= sequence.least});
    if (wanted) wanting.push_back(id);
  };
  for (const SequenceId id : batch.decodes) add(id, length(id) - 1, 1, true);
  std::uint64_t prefilled = 0;
  for (const schedule::PrefillChunk& chunk : batch.prefills) {
    add(chunk.id, chunk.first, chunk.tokens, chunk.last);
    prefilled += chunk.tokens;
  }
  const std::vector<Token> tokens = cache_.compute(work);
  pace();
  must(scheduler_->commit(), "commit");
  for (std::size_t i = 0; i < tokens.size(); ++i) speak(wanting[i], tokens[i]);
  const std::lock_guard lock(mu_);
  ++status_.iterations;
  status_.prefilled += prefilled;
}

void Engine::pace() {
  const auto length = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double, std::milli>(options_.iteration_ms));
  const auto now = std::chrono::steady_clock::now();
  end_ = std::max(end_ + length, now);
  if (end_ > now) inbox_.wait_until(end_);
}

void Engine::say(const Sequence& sequence, std::size_t at, std::string_view finish) const {
  // With its prompt: of an answer that came by tokens it has the beginning.
  const auto known = std::span(sequence.tokens).first(at + 1);
  sequence.out->say_token({.token = known.back(),
                           .text = last_text(model_, known),
                           .finish = finish,
                           .turn = sequence.name.turn,
                           .position = at - sequence.prompt});
}

void Engine::speak(SequenceId id, Token token) {
  Sequence& sequence = sequences_.at(id);
  sequence.tokens.push_back(token);
  const bool last = sequence.answer() >= sequence.most;
  const std::string_view finish = model_.ends(token) ? "stop" : last ? "length" : "";
  say(sequence, sequence.tokens.size() - 1, finish);
  if (finish.empty()) return;
  if (sequence.source && !sequence.source->move.over()) tell(id, SourceEvent::ended);
  must(scheduler_->finish(id), "finish");
  if (sequence.ahead) {
    sequence.tokens.pop_back();  // its own KV is not there
    kept_.keep({std::move(sequence.tokens), std::exchange(sequence.blocks, {})});
  }
  end(id);
}

}  // namespace aqua::fleet
