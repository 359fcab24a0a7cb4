// SPDX-License-Identifier: Apache-2.0
// Engine: what others may know of it, and what it leaves.
#include <algorithm>

#include "tools/sim/engine/engine.hpp"
#include "tools/sim/layers/swapped_layers.hpp"

namespace aqua::sim {

double Engine::kv_bytes_used() const {
  return scheduler_.status().device_blocks_held * options_.kv_bytes_per_token *
         options_.block_tokens;
}

double Engine::kv_bytes_wanted() const {
  const double block = options_.kv_bytes_per_token * options_.block_tokens;
  double bytes = kv_bytes_used() + scheduler_.status().swap_blocks_held * block;
  if (scheduler_.status().waiting == 0) return bytes;
  return bytes + static_cast<double>(unstarted_tokens_) * options_.kv_bytes_per_token;
}

void Engine::set_device_blocks(std::uint32_t blocks) {
  if (scheduler_.status().device_blocks == blocks) return;
  scheduler_.set_device_blocks(blocks);
  changed_ = true;
  changed();
}

bool Engine::reserve(std::uint32_t blocks) {
  const schedule::SchedulerStatus status = scheduler_.status();
  if (std::uint64_t{status.device_blocks_held} + blocks > status.device_blocks) return false;
  reserved_ += blocks;
  set_device_blocks(status.device_blocks - blocks);
  return true;
}

void Engine::unreserve(std::uint32_t blocks) {
  reserved_ -= blocks;
  set_device_blocks(scheduler_.status().device_blocks + blocks);
}

void Engine::sample(Picos now) {
  const schedule::SchedulerStatus status = scheduler_.status();
  series_.add({.at = now,
               .device_bytes = kv_bytes_used(),
               .peer_bytes = swap_.peer_bytes(),
               .host_bytes = swap_.host_bytes(),
               .waiting = static_cast<std::uint32_t>(status.waiting),
               .resident = static_cast<std::uint32_t>(status.resident),
               .swapped = static_cast<std::uint32_t>(status.swapped + status.paging_in +
                                                     status.paging_out)});
}

RunOutcome Engine::outcome() && {
  RunOutcome outcome{
      .requests = std::move(requests_), .totals = totals_, .memory = series_.samples()};
  if (options_.layers != nullptr) outcome.layers = options_.layers->outcome();
  if (outcome.requests.empty()) return outcome;
  for (const RequestOutcome& request : outcome.requests) {
    if (!request.refused()) outcome.makespan = std::max(outcome.makespan, request.finish);
  }
  outcome.makespan -= std::min(outcome.makespan, outcome.requests.front().arrival);
  return outcome;
}

}  // namespace aqua::sim
