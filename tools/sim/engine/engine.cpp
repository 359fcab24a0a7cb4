// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/engine/engine.hpp"

#include <algorithm>
#include <cassert>

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

Engine::Engine(const Workload& workload, const CostModel& cost, schedule::Scheduler& scheduler,
               SwapSpace& swap, Network& network, PrefixStore* prefixes,
               const EngineOptions& options)
    : workload_(workload),
      cost_(cost),
      scheduler_(scheduler),
      swap_(swap),
      network_(network),
      prefixes_(prefixes),
      options_(options),
      sequences_(workload.requests.size()),
      requests_(workload.requests.size()),
      series_(options.sample_interval) {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const TraceRequest& request = workload.requests[i];
    requests_[i].arrival = request.arrival;
    requests_[i].prompt_tokens = request.prompt_tokens;
    requests_[i].output_tokens = request.output_tokens;
  }
}

Picos Engine::next() const {
  if (done()) return kNever;
  const bool more = arrived_ < requests_.size();
  Picos at = more ? requests_[arrived_].arrival : kNever;
  if (computing_) at = std::min(at, end_);
  if (!computing_ && changed_) return std::min(at, Picos{0});  // at once
  const bool waits_for_something = more || computing_ || !copies_.empty();
  return waits_for_something ? std::min(at, series_.next()) : kNever;
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
  arrivals(now);
  if (!computing_) begin(now, horizon);
}

std::uint32_t Engine::limit_of(const TraceRequest& request) const {
  const std::uint64_t device =
      std::uint64_t{scheduler_.status().device_blocks} * options_.block_tokens;
  const std::uint64_t beside = device - std::min<std::uint64_t>(device, request.prompt_tokens);
  const std::uint64_t limit = std::min<std::uint64_t>(options_.answer_limit, beside);
  return std::max(request.output_tokens, static_cast<std::uint32_t>(limit));
}

void Engine::arrivals(Picos now) {
  for (; arrived_ < requests_.size() && requests_[arrived_].arrival <= now; ++arrived_) {
    const auto index = static_cast<std::uint32_t>(arrived_);
    const TraceRequest& request = workload_.requests[arrived_];
    schedule::Request asked{.id = id_of(index),
                            .prompt_tokens = request.prompt_tokens,
                            .max_new_tokens = limit_of(request),
                            .tenant = schedule::TenantId{index}};  // each is a user of its own
    if (prefixes_ != nullptr) {
      const PrefixStore::Hit hit = prefixes_->acquire(workload_, request);
      asked.cached_tokens = hit.tokens;
      asked.cached_in = hit.tier;
    }
    const std::uint64_t most = std::uint64_t{request.prompt_tokens} + request.output_tokens;
    const bool may = options_.layers == nullptr || options_.layers->holds_ever(most);
    if (!may || !scheduler_.arrive(asked).ok()) {
      if (asked.cached_tokens > 0) prefixes_->release(workload_, request, asked.cached_tokens);
      ++ended_;  // refused: larger than the device
      continue;
    }
    if (options_.layers != nullptr) options_.layers->waits(request.prompt_tokens);
    sequences_[arrived_].cached = sequences_[arrived_].computed_once = asked.cached_tokens;
    requests_[arrived_].cached_tokens = asked.cached_tokens;
    totals_.cached_tokens += asked.cached_tokens;
    changed_ = true;
  }
}

void Engine::begin(Picos now, Picos horizon) {
  tell_finished_copies(now);
  if (options_.layers != nullptr) set_device_blocks(options_.layers->usable_blocks());
  while (changed_) {
    const double typical = options_.kv_bytes_per_token * options_.block_tokens;
    scheduler_.set_swap_tier(swap_.tier_for(typical));
    const schedule::Batch& batch = scheduler_.next();
    ++totals_.decisions;
    const bool moves = batch.moves();
    if (moves && options_.paging.at_once()) {
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
  Sequence& sequence = sequences_[request];
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
  ++ended_;
  swap_.release(request, now);
  if (options_.layers != nullptr) options_.layers->leaves(request);
  told(scheduler_.finish(id_of(request)));
}

}  // namespace aqua::sim
