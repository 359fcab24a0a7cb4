// SPDX-License-Identifier: Apache-2.0
// The engine while the keeper of its pool is away, and once one is there again.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "serve/engine.hpp"

namespace aqua::fleet {

// The keeper is away, and the batch wants more blocks than are left. From now on no more are
// counted on than those that are with requests, kept, or at hand. The change voids the batch.
void Engine::count_blocks() {
  std::size_t here = cache_.idle_blocks() + kept_.blocks();
  for (const auto& [id, sequence] : sequences_) here += sequence.blocks.size();
  for (const Incoming& incoming : incoming_) here += incoming.sequence.blocks.size();
  pool_blocks_ = std::min(options_.blocks, static_cast<std::uint32_t>(here));
  set_capacity();
}

// What the pool had is in the former keeper's memory, of which nothing is handed over any more: the
// requests' blocks are copied into the new pool while both are mapped. Whatever fails before that
// leaves all as it was. The blocks for the copies are asked for once a round, and nobody waits for
// them: a keeper that hangs, or has too few, may still give them later, or die.
// Parcels are numbered by their pool, so that no move may be under way.
void Engine::rejoin() {
  if (!back_) return;
  if (!back_->is_connected()) return watch_again();
  const bool moves = !incoming_.empty() || std::ranges::any_of(sequences_, [](const auto& entry) {
    return entry.second.source.has_value();
  });
  if (moves) return;
  if (!cache_.has_pool()) return take_carrier();
  KvPool& back = static_cast<KvPool&>(*back_);
  Blocks from;
  for (const auto& [id, sequence] : sequences_)
    from.insert(from.end(), sequence.blocks.begin(), sequence.blocks.end());
  Blocks to;
  if (!from.empty()) {
    auto taken = back.allocate(from.size());
    if (!taken.ok()) return;  // the watch tells when there is news of them
    to = std::move(taken).value();
  }
  kept_.drop_all();
  auto next = to.begin();
  for (auto& [id, sequence] : sequences_) {
    for (std::uint32_t& block : sequence.blocks) block = *next++;
    sequence.shared = 0;  // the copies are this engine's alone
  }
  parcels_.clear();
  watch_.reset();
  cache_.rejoin(std::move(back), from, to);
  back_.reset();
  watch_.emplace(cache_, options_.cache, inbox_);
  pool_blocks_ = options_.blocks;
  set_capacity();
  tell_rejoined();
}

// Its blocks are its own, and stay where they are.
void Engine::take_carrier() {
  parcels_.clear();
  admitted_.clear();
  watch_.reset();
  cache_.rejoin(std::move(static_cast<SegmentCarrier&>(*back_)));
  back_.reset();
  watch_.emplace(cache_, options_.cache, inbox_);
  tell_rejoined();
}

void Engine::tell_rejoined() {
  std::fprintf(stderr, "engine %s: joined its pool again\n", options_.cache.role.c_str());
  const std::lock_guard lock(mu_);
  ++status_.rejoins;
}

// The keeper that was there again has died as well: another one is waited for.
void Engine::watch_again() {
  back_.reset();
  watch_.emplace(cache_, options_.cache, inbox_);
}

}  // namespace aqua::fleet
