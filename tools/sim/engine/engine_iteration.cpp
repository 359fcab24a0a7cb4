// SPDX-License-Identifier: Apache-2.0
// Engine: how long an iteration takes, and what it has done at its end.
#include <algorithm>
#include <cassert>
#include <utility>

#include "tools/sim/engine/engine.hpp"
#include "tools/sim/layers/swapped_layers.hpp"

namespace aqua::sim {
namespace {

std::uint32_t request_of(schedule::SequenceId id) {
  return static_cast<std::uint32_t>(id);
}

}  // namespace

void Engine::compute(const schedule::Batch& batch, Picos now, Picos horizon) {
  prefills_ = batch.prefills;
  decodes_.clear();
  std::uint64_t kv_tokens = 0, prompts_kv = 0;
  const bool may_skip = options_.skip && options_.gpu == nullptr && network_.idle() &&
                        (!options_.may_skip || options_.may_skip());
  std::uint32_t repeat = may_skip ? batch.repeat : 1;
  for (const schedule::SequenceId id : batch.decodes) {
    const std::uint32_t request = request_of(id);
    decodes_.push_back(request);
    const std::uint32_t generated = sequences_[request].generated;
    kv_tokens += requests_[request].prompt_tokens + generated;
    repeat = std::min(repeat, requests_[request].output_tokens - generated);
  }
  const std::uint32_t tokens = batch.tokens();
  Picos fixed = cost_.linear(tokens);
  auto rows = static_cast<std::uint32_t>(decodes_.size());
  for (const schedule::PrefillChunk& chunk : prefills_) {
    fixed += cost_.prefill_attention(chunk.tokens, chunk.first);
    prompts_kv += chunk.first + chunk.tokens;
    rows += chunk.last ? 1 : 0;
  }
  fixed += cost_.head(rows);
  if (!prefills_.empty()) repeat = 1;
  start_prompts();
  horizon = std::min(horizon, series_.next());

  bool same = true;  // may the next iteration be computed without a decision
  const auto iteration = [&](std::uint32_t repetition, Picos at) {
    const Picos length = fixed +
                         cost_.decode_attention_per_token() * static_cast<Picos>(kv_tokens) +
                         cost_.any_pairs(tokens, kv_tokens + prompts_kv);
    if (options_.layers == nullptr) return length;
    const auto played = options_.layers->play(layer_iteration(length, repetition), at);
    same = !played.changes;
    return length + played.longer;
  };
  now += std::exchange(stopped_, 0);
  Picos length = iteration(0, now);
  if (options_.gpu != nullptr) length = options_.gpu->begin(now, length, !prefills_.empty()) - now;
  first_end_ = end_ = now + length;
  longest_ = length;
  for (repeat_ = 1; same && repeat_ < repeat && end_ < horizon; ++repeat_) {
    kv_tokens += decodes_.size();
    length = iteration(repeat_, end_);
    if (options_.may_skip && end_ + length >= horizon) break;
    longest_ = std::max(longest_, length);
    end_ += length;
  }
  [[maybe_unused]] const Result<void> committed = scheduler_.commit(repeat_);
  assert(committed.ok());
  computing_ = true;
  stretched_ = 0;
  traffic_before_ = memory_traffic(now);
  totals_.iterations += repeat_;
  totals_.busy += end_ - now;
}

// Prompts whose first chunk is in the batch no longer wait for blocks.
void Engine::start_prompts() {
  if (options_.layers == nullptr) return;
  for (const schedule::PrefillChunk& chunk : prefills_) {
    if (chunk.first == 0) options_.layers->starts(table_.known_tokens(request_of(chunk.id)));
  }
}

// The batch as its layers see it, when it is computed for the `repetition`-th time more.
LayerIteration Engine::layer_iteration(Picos length, std::uint32_t repetition) const {
  const SwappedLayers& layers = *options_.layers;
  LayerIteration iteration{.compute = length, .written = decodes_.size()};
  for (const std::uint32_t request : decodes_) {
    const std::uint64_t tokens = table_.known_tokens(request) + repetition;
    iteration.blocks += layers.blocks_for(tokens);
    iteration.read += layers.blocks_for(tokens - 1);
  }
  for (const schedule::PrefillChunk& chunk : prefills_) {
    const std::uint64_t until = std::uint64_t{chunk.first} + chunk.tokens;
    iteration.blocks += layers.blocks_for(until);
    iteration.read += layers.blocks_for(chunk.first);
    iteration.written += layers.blocks_for(until) - chunk.first / options_.block_tokens;
  }
  return iteration;
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
  // Blocks are taken in the order of single iterations: their numbers decide which have to move.
  for (std::uint32_t i = 0; options_.layers != nullptr && i + 1 < repeat_; ++i) {
    for (const std::uint32_t request : decodes_) {
      options_.layers->holds(request, table_.known_tokens(request) + i);
    }
  }
  for (const std::uint32_t request : decodes_) {
    totals_.decode_tokens += repeat_;
    if (options_.layers != nullptr) {
      options_.layers->holds(request, table_.known_tokens(request) + repeat_ - 1);
    }
    sequences_[request].computed_once += repeat_;
    emit(request, repeat_, first_at, now, longest_);
  }
  for (const schedule::PrefillChunk& chunk : prefills_) {
    const std::uint32_t request = request_of(chunk.id);
    std::uint32_t& once = sequences_[request].computed_once;
    const std::uint32_t until = chunk.first + chunk.tokens;
    if (once == 0) unstarted_tokens_ -= requests_[request].prompt_tokens;
    const std::uint32_t fresh = std::min(chunk.tokens, until - std::min(until, once));
    totals_.prefill_tokens += fresh;
    totals_.recomputed_tokens += chunk.tokens - fresh;
    once = std::max(once, until);
    if (options_.layers != nullptr) options_.layers->holds(request, until);
    if (!chunk.last) continue;
    if (prefixes_ != nullptr && sequences_[request].generated == 0) store_prefix(request, now);
    emit(request, 1, now, now, 0);
  }
}

}  // namespace aqua::sim
