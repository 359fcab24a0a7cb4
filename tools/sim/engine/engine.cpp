// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/engine/engine.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "tools/sim/layers/swapped_layers.hpp"

namespace aqua::sim {
namespace {

schedule::SequenceId id_of(std::uint32_t request) {
  return schedule::SequenceId{request};
}

// The scheduler refuses nothing of what the simulator tells it, but what arrive() may.
void told([[maybe_unused]] const Result<void>& result) {
  assert(result.ok());
}

}  // namespace

Engine::Engine(RequestTable& table, const CostModel& cost, schedule::Scheduler& scheduler,
               SwapSpace& swap, Network& network, PrefixStore* prefixes,
               const EngineOptions& options)
    : table_(table),
      workload_(table.workload),
      cost_(cost),
      scheduler_(scheduler),
      swap_(swap),
      network_(network),
      prefixes_(prefixes),
      options_(options),
      sequences_(table.progress),
      requests_(table.outcomes),
      series_(options.sample_interval) {}

Picos Engine::next() const {
  if (done()) return kNever;
  constexpr Picos kAtOnce = 0;
  if (!inbox_.empty() || (!computing_ && changed_)) return kAtOnce;
  const bool waits_for_something = !closed_ || computing_ || !copies_.empty();
  if (!waits_for_something) return kNever;
  return computing_ ? std::min(end_, series_.next()) : series_.next();
}

void Engine::act(Picos now, Picos horizon) {
  if (now >= series_.next()) sample(now);
  if (computing_ && now == end_) {
    if (const Picos more = memory_stretch(now); more > 0) {
      end_ += more;
    } else {
      end_iteration(now);
    }
  }
  take_inbox(now);
  if (!computing_) begin(now, horizon);
}

void Engine::submit(std::uint32_t request) {
  inbox_.push_back(request);
  changed();
}

void Engine::submit_delivered(std::uint32_t request, std::uint32_t blocks) {
  delivered_ += blocks;
  submit(request);
}

void Engine::close() {
  closed_ = true;
  changed();
}

void Engine::send_away(std::uint32_t request) {
  leaving_.push_back(request);
  if (!computing_) changed_ = true;
  changed();
}

// Those that are to leave and are not being copied do so.
void Engine::let_go(Picos now) {
  if (leaving_.empty()) return;
  take_inbox(now);
  for (const std::uint32_t request : std::exchange(leaving_, {})) {
    const auto status = scheduler_.sequence(id_of(request));
    if (!status.ok()) continue;  // it has ended
    RequestTable::Progress& sequence = sequences_[request];
    if (sequence.in != 0 || sequence.out != 0 || sequence.move != 0) {
      leaving_.push_back(request);
      continue;
    }
    told(scheduler_.finish(id_of(request)));
    --open_;
    changed_ = true;
    const bool resident = status->state == schedule::SequenceState::resident;
    sequence.delivered = resident ? status->computed_tokens : 0;
    swap_.release(request, now);
    if (sequence.computed_once == 0) unstarted_tokens_ -= requests_[request].prompt_tokens;
    options_.left(request, now);
  }
  take_inbox(now);  // it may be sent back at once
}

std::uint32_t Engine::limit_of(const TraceRequest& request) const {
  const std::uint64_t device =
      std::uint64_t{scheduler_.status().device_blocks} * options_.block_tokens;
  const std::uint64_t beside = device - std::min<std::uint64_t>(device, request.prompt_tokens);
  const std::uint64_t limit = std::min<std::uint64_t>(options_.answer_limit, beside);
  return std::max(request.output_tokens, static_cast<std::uint32_t>(limit));
}

void Engine::take_inbox(Picos now) {
  for (const std::uint32_t request : std::exchange(inbox_, {})) take(request, now);
}

void Engine::take(std::uint32_t request, Picos now) {
  ++arrived_;
  const TraceRequest& trace = workload_.requests[request];
  RequestTable::Progress& sequence = sequences_[request];
  schedule::Request asked{.id = id_of(request),
                          .prompt_tokens = static_cast<std::uint32_t>(table_.known_tokens(request)),
                          .max_new_tokens = limit_of(trace) - sequence.generated,
                          .cached_tokens = sequence.delivered,
                          .tenant = schedule::TenantId{request}};  // each is a user of its own
  PrefixStore::Hit hit;
  if (prefixes_ != nullptr && sequence.generated == 0) {
    hit = prefixes_->acquire(workload_, trace);
    asked.cached_tokens = hit.tokens;
    asked.cached_in = hit.tier;
  }
  const std::uint64_t most = std::uint64_t{trace.prompt_tokens} + trace.output_tokens;
  const bool may = options_.layers == nullptr || options_.layers->holds_ever(most);
  if (!may || !accepts(asked)) {
    if (hit.blocks > 0) prefixes_->release(workload_, trace, hit.blocks);
    over(request, now);  // refused: larger than the device
    return;
  }
  ++open_;
  changed_ = true;
  if (options_.layers != nullptr) options_.layers->waits(trace.prompt_tokens);
  if (sequence.delivered > 0 || sequence.generated > 0) return;
  sequence.cached_blocks = hit.blocks;
  sequence.computed_once = std::max(sequence.computed_once, asked.cached_tokens);
  if (sequence.computed_once == 0) unstarted_tokens_ += trace.prompt_tokens;
  requests_[request].cached_tokens = asked.cached_tokens;
  totals_.cached_tokens += asked.cached_tokens;
}

// What fits into all that the engine has, although some of it is kept for others now.
bool Engine::accepts(const schedule::Request& asked) {
  const std::uint32_t blocks = scheduler_.status().device_blocks;
  if (reserved_ > 0) scheduler_.set_device_blocks(blocks + reserved_);
  const bool accepted = scheduler_.arrive(asked).ok();
  if (reserved_ > 0) scheduler_.set_device_blocks(blocks);
  return accepted;
}

void Engine::begin(Picos now, Picos horizon) {
  tell_finished_copies(now);
  let_go(now);
  if (delivered_ > 0) unreserve(std::exchange(delivered_, 0));
  if (options_.layers != nullptr) set_device_blocks(options_.layers->usable_blocks());
  while (changed_) {
    const double typical = options_.kv_bytes_per_token * options_.block_tokens;
    const bool gives_way = prefixes_ != nullptr && prefixes_->any_with_peer();
    scheduler_.set_swap_tier(gives_way ? Tier::peer : swap_.tier_for(typical));
    const schedule::Batch& batch = scheduler_.next();
    ++totals_.decisions;
    const bool moves = batch.moves();
    if (moves && at_once(batch)) {
      page(schedule::Batch(batch), now);  // tells the scheduler at once, which ends `batch`
      continue;
    }
    if (moves) page(batch, now);
    if (batch.computes()) return compute(batch, now, horizon);
    changed_ = moves && copies_.empty();  // what was dropped alone is let in by the next plan
  }
}

void Engine::emit(std::uint32_t request, std::uint32_t tokens, Picos first_at, Picos now,
                  Picos longest) {
  RequestTable::Progress& sequence = sequences_[request];
  RequestOutcome& outcome = requests_[request];
  if (sequence.last_token == kNever) {
    outcome.first_token = first_at;
  } else {
    outcome.longest_gap = std::max(outcome.longest_gap, first_at - sequence.last_token);
  }
  if (tokens > 1) outcome.longest_gap = std::max(outcome.longest_gap, longest);
  sequence.last_token = now;
  if (options_.token) options_.token(request, now);
  sequence.generated += tokens;
  totals_.output_tokens += tokens;
  assert(sequence.generated <= outcome.output_tokens);
  if (sequence.generated == outcome.output_tokens) finish(request, now);
}

void Engine::finish(std::uint32_t request, Picos now) {
  requests_[request].finish = now;
  --open_;
  swap_.release(request, now);
  if (options_.layers != nullptr) options_.layers->leaves(request);
  told(scheduler_.finish(id_of(request)));
  over(request, now);
}

void Engine::over(std::uint32_t request, Picos now) {
  ++ended_;
  if (options_.ended) options_.ended(request, now);
}

}  // namespace aqua::sim
