// SPDX-License-Identifier: Apache-2.0
// The engine while the keeper of its pool is away, and once one is there again.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "must.hpp"
#include "serve/engine.hpp"

namespace aqua::fleet {

using example::must;

// The keeper is away, and the batch wants more blocks than are left. From now on no more are
// counted on than those that are with requests, kept, or at hand. The change voids the batch.
void Engine::count_blocks() {
  std::size_t here = cache_.idle_blocks() + kept_.blocks();
  for (const auto& [id, sequence] : sequences_) here += sequence.blocks.size();
  for (const Incoming& incoming : incoming_) here += incoming.sequence.blocks.size();
  pool_blocks_ = std::min(options_.blocks, static_cast<std::uint32_t>(here));
  set_capacity();
}

// What the pool had is with the former keeper's memory, of which nothing is handed over any more.
// While the keeper was away the engine had but few blocks more than it used, so that little is
// computed again. Parcels have numbers of their pool: no move may be under way.
void Engine::rejoin() {
  const bool moves = !incoming_.empty() || std::ranges::any_of(sequences_, [](const auto& entry) {
    return entry.second.source.has_value();
  });
  if (!back_ || moves) return;
  kept_.drop_all();
  for (auto& [id, sequence] : sequences_) {
    if (sequence.blocks.empty()) continue;
    drop_kv(sequence);
    must(scheduler_->lost(id), "lost");
  }
  parcels_.clear();
  watch_.reset();
  cache_.rejoin(std::move(*std::exchange(back_, nullptr)));
  watch_.emplace(runtime_, cache_, options_.cache, inbox_);
  pool_blocks_ = options_.blocks;
  set_capacity();
  std::fprintf(stderr, "engine %s: joined its pool again\n", options_.cache.role.c_str());
  const std::lock_guard lock(mu_);
  ++status_.rejoins;
}

}  // namespace aqua::fleet
