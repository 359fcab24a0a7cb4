#include "sim/engine.hpp"

#include <algorithm>
#include <cassert>

namespace aqua::sim {
namespace {

policy::SequenceId id_of(std::uint32_t request) {
  return policy::SequenceId{request};
}
std::uint32_t request_of(policy::SequenceId id) {
  return static_cast<std::uint32_t>(id);
}

// The scheduler refuses nothing of what the simulator tells it, but what arrive() may.
void told([[maybe_unused]] const Result<void>& result) {
  assert(result.ok());
}

}  // namespace

Engine::Engine(const Workload& workload, const CostModel& cost, policy::Scheduler& scheduler,
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
    const Request& request = workload.requests[i];
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

void Engine::arrivals(Picos now) {
  for (; arrived_ < requests_.size() && requests_[arrived_].arrival <= now; ++arrived_) {
    const auto index = static_cast<std::uint32_t>(arrived_);
    const Request& request = workload_.requests[arrived_];
    policy::Request asked{.id = id_of(index),
                          .prompt_tokens = request.prompt_tokens,
                          .max_new_tokens = request.output_tokens};
    if (prefixes_ != nullptr) {
      const PrefixStore::Hit hit = prefixes_->acquire(workload_, request);
      asked.cached_tokens = hit.tokens;
      asked.cached_in = hit.tier;
    }
    if (!scheduler_.arrive(asked).ok()) {
      if (asked.cached_tokens > 0) prefixes_->release(workload_, request, asked.cached_tokens);
      ++ended_;  // refused: larger than the device
      continue;
    }
    sequences_[arrived_].cached = sequences_[arrived_].computed_once = asked.cached_tokens;
    requests_[arrived_].cached_tokens = asked.cached_tokens;
    totals_.cached_tokens += asked.cached_tokens;
    changed_ = true;
  }
}

void Engine::begin(Picos now, Picos horizon) {
  tell_finished_copies(now);
  while (changed_) {
    const double typical = options_.kv_bytes_per_token * options_.block_tokens;
    scheduler_.set_swap_tier(swap_.tier_for(typical));
    const policy::Batch& batch = scheduler_.next();
    ++totals_.decisions;
    const bool moves = batch.moves();
    if (moves && options_.paging.method == CopyMethod::free) {
      page(policy::Batch(batch), now);  // tells the scheduler at once, which ends `batch`
      continue;
    }
    if (moves) page(batch, now);
    if (batch.computes()) return compute(batch, now, horizon);
    changed_ = false;
  }
}

void Engine::compute(const policy::Batch& batch, Picos now, Picos horizon) {
  prefills_ = batch.prefills;
  decodes_.clear();
  std::uint64_t kv_tokens = 0;
  std::uint32_t repeat = options_.skip && network_.idle() ? batch.repeat : 1;
  for (const policy::SequenceId id : batch.decodes) {
    const std::uint32_t request = request_of(id);
    decodes_.push_back(request);
    const std::uint32_t generated = sequences_[request].generated;
    kv_tokens += requests_[request].prompt_tokens + generated;
    repeat = std::min(repeat, requests_[request].output_tokens - generated);
  }
  Picos fixed = cost_.linear(batch.tokens());
  auto rows = static_cast<std::uint32_t>(decodes_.size());
  for (const policy::PrefillChunk& chunk : prefills_) {
    fixed += cost_.prefill_attention(chunk.tokens, chunk.first);
    rows += chunk.last ? 1 : 0;
  }
  fixed += cost_.head(rows);
  if (!prefills_.empty()) repeat = 1;
  if (arrived_ < requests_.size()) horizon = std::min(horizon, requests_[arrived_].arrival);
  horizon = std::min(horizon, series_.next());

  const auto iteration = [&] {
    return fixed + cost_.decode_attention_per_token() * static_cast<Picos>(kv_tokens);
  };
  Picos length = iteration();
  last_start_ = now;
  first_end_ = end_ = now + length;
  longest_ = length;
  for (repeat_ = 1; repeat_ < repeat && end_ < horizon; ++repeat_) {
    kv_tokens += decodes_.size();
    length = iteration();
    longest_ = std::max(longest_, length);
    last_start_ = end_;
    end_ += length;
  }
  told(scheduler_.commit(repeat_));
  computing_ = true;
  stretched_ = 0;
  traffic_before_ = memory_traffic(now);
  totals_.iterations += repeat_;
  totals_.busy += end_ - now;
}

double Engine::memory_traffic(Picos now) const {
  double own = 0, others = 0;
  for (const auto* path : {&options_.paging.peer, &options_.paging.host}) {
    if (!path->out.empty()) own += network_.bytes_moved(path->out.front(), now);
    if (!path->in.empty()) own += network_.bytes_moved(path->in.front(), now);
  }
  for (const LinkId link : options_.visitors) others += network_.bytes_moved(link, now);
  return own * options_.paging.hbm_traffic() + others;
}

// What copies moved through this GPU's memory since the iteration began, not yet accounted for.
Picos Engine::memory_stretch(Picos now) {
  const double traffic = memory_traffic(now) - traffic_before_;
  const Picos needed = picos(traffic / options_.paging.hbm_bytes_per_second) - stretched_;
  constexpr Picos kNegligible = 1000;  // a nanosecond: the sum converges
  if (needed < kNegligible) return 0;
  stretched_ += needed;
  totals_.stretched += needed;
  totals_.busy += needed;
  return needed;
}

void Engine::end_iteration(Picos now) {
  computing_ = false;
  changed_ = true;
  const Picos first_at = repeat_ == 1 ? now : first_end_;
  for (const std::uint32_t request : decodes_) {
    totals_.decode_tokens += repeat_;
    sequences_[request].computed_once += repeat_;
    emit(request, repeat_, first_at, now, longest_);
  }
  for (const policy::PrefillChunk& chunk : prefills_) {
    const std::uint32_t request = request_of(chunk.id);
    std::uint32_t& once = sequences_[request].computed_once;
    const std::uint32_t until = chunk.first + chunk.tokens;
    const std::uint32_t fresh = std::min(chunk.tokens, until - std::min(until, once));
    totals_.prefill_tokens += fresh;
    totals_.recomputed_tokens += chunk.tokens - fresh;
    once = std::max(once, until);
    if (!chunk.last) continue;
    if (prefixes_ != nullptr && sequences_[request].generated == 0) store_prefix(request, now);
    emit(request, 1, now, now, 0);
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
  sequence.generated += tokens;
  totals_.output_tokens += tokens;
  assert(sequence.generated <= outcome.output_tokens);
  if (sequence.generated == outcome.output_tokens) finish(request, now);
}

void Engine::finish(std::uint32_t request, Picos now) {
  requests_[request].finish = now;
  ++ended_;
  swap_.release(request, now);
  told(scheduler_.finish(id_of(request)));
}

double Engine::kv_bytes_used() const {
  return scheduler_.status().device_blocks_held * options_.kv_bytes_per_token *
         options_.block_tokens;
}

double Engine::kv_bytes_wanted() const {
  const double block = options_.kv_bytes_per_token * options_.block_tokens;
  double bytes = kv_bytes_used() + scheduler_.status().swap_blocks_held * block;
  if (scheduler_.status().waiting == 0) return bytes;
  for (std::size_t i = 0; i < arrived_; ++i) {
    const bool waits = sequences_[i].computed_once == 0 && requests_[i].finish == kNever;
    if (waits) bytes += requests_[i].prompt_tokens * options_.kv_bytes_per_token;
  }
  return bytes;
}

void Engine::set_device_blocks(std::uint32_t blocks) {
  if (scheduler_.status().device_blocks == blocks) return;
  scheduler_.set_device_blocks(blocks);
  changed_ = true;
}

void Engine::sample(Picos now) {
  const policy::SchedulerStatus status = scheduler_.status();
  series_.add({.at = now,
               .device_bytes = kv_bytes_used(),
               .peer_bytes = swap_.peer_bytes(),
               .host_bytes = swap_.host_bytes(),
               .waiting = static_cast<std::uint32_t>(status.waiting),
               .resident = static_cast<std::uint32_t>(status.resident),
               .swapped = static_cast<std::uint32_t>(status.swapped + status.paging_in +
                                                     status.paging_out)});
}

Outcome Engine::outcome() && {
  Outcome outcome{.requests = std::move(requests_), .totals = totals_, .memory = series_.samples()};
  if (outcome.requests.empty()) return outcome;
  for (const RequestOutcome& request : outcome.requests) {
    if (!request.refused()) outcome.makespan = std::max(outcome.makespan, request.finish);
  }
  outcome.makespan -= std::min(outcome.makespan, outcome.requests.front().arrival);
  return outcome;
}

}  // namespace aqua::sim
