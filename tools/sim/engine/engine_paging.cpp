// SPDX-License-Identifier: Apache-2.0
// Engine: what the scheduler orders out and in, and what a market moves.
#include <algorithm>
#include <cassert>

#include "tools/sim/engine/engine.hpp"
#include "tools/sim/layers/swapped_layers.hpp"

namespace aqua::sim {
namespace {

void told([[maybe_unused]] const Result<void>& result) {
  assert(result.ok());
}

}  // namespace

FlowId Engine::start_copy(std::uint32_t request, CopyPurpose purpose, Tier tier, double bytes,
                          Picos now) {
  const Paging& paging = options_.paging;
  Copy copy{.request = request, .purpose = purpose, .tier = tier};
  const bool out = purpose != CopyPurpose::in;
  if (paging.at_once()) {
    const CopyCost& cost = out ? paging.stop_out : paging.stop_in;
    if (paging.method == PagingMethod::stopping) stopped_ += picos(cost.seconds(bytes));
    arrived_copies_.push_back(copy);  // the caller tells at once
    return 0;
  }
  const bool move = purpose == CopyPurpose::evacuate || purpose == CopyPurpose::promote;
  copy.flow = network_.start(move ? paging.move(tier, bytes) : paging.transfer(tier, out, bytes),
                             now, this);
  copies_.push_back(copy);
  return copy.flow;
}

void Engine::page(const schedule::Batch& batch, Picos now) {
  for (const schedule::Preemption& order : batch.preemptions) page_out(order, now);
  for (const schedule::PageIn& order : batch.page_ins) page_in(order, now);
  if (at_once(batch)) tell_finished_copies(now);
}

// What is ordered out or in is there when it is ordered, or some of it.
bool Engine::at_once(const schedule::Batch& batch) const {
  if (options_.paging.at_once()) return batch.moves();
  return std::ranges::any_of(batch.page_ins, [&](const schedule::PageIn& order) {
    return sequences_[static_cast<std::uint32_t>(order.id)].delivered > 0;
  });
}

void Engine::page_out(const schedule::Preemption& order, Picos now) {
  const auto request = static_cast<std::uint32_t>(order.id);
  ++requests_[request].preemptions;
  if (order.how == schedule::Preemption::How::recompute) {
    ++totals_.recomputes;
    if (options_.layers == nullptr) return;
    options_.layers->leaves(request);
    options_.layers->waits(table_.known_tokens(request));
    return;
  }
  const double bytes = order.blocks * options_.kv_bytes_per_token * options_.block_tokens;
  if (prefixes_ != nullptr && order.to == Tier::peer) prefixes_->make_room(bytes, swap_, now);
  const Tier tier = swap_.reserve(request, bytes, now, order.to);
  ++totals_.swaps_out;
  totals_.bytes_out += bytes;
  if (tier == Tier::peer) totals_.bytes_out_peer += bytes;
  totals_.peak_peer_bytes = std::max(totals_.peak_peer_bytes, swap_.peer_bytes());
  totals_.peak_host_bytes = std::max(totals_.peak_host_bytes, swap_.host_bytes());
  sequences_[request].out = start_copy(request, CopyPurpose::out, tier, bytes, now);
}

void Engine::page_in(const schedule::PageIn& order, Picos now) {
  const auto request = static_cast<std::uint32_t>(order.id);
  if (sequences_[request].delivered > 0) {
    arrived_copies_.push_back({.request = request, .purpose = CopyPurpose::in});
    return;
  }
  const double bytes = order.blocks * options_.kv_bytes_per_token * options_.block_tokens;
  const Tier tier = swap_.holds(request) ? swap_.tier_of(request) : order.from;
  ++totals_.swaps_in;
  totals_.bytes_in += bytes;
  if (!swap_.holds(request)) totals_.bytes_fetched += bytes;
  sequences_[request].in = start_copy(request, CopyPurpose::in, tier, bytes, now);
}

void Engine::store_prefix(std::uint32_t request, Picos now) {
  const auto stored = prefixes_->store(workload_, workload_.requests[request], swap_, now);
  if (stored.bytes <= 0) return;
  totals_.bytes_stored += stored.bytes;
  totals_.peak_peer_bytes = std::max(totals_.peak_peer_bytes, swap_.peer_bytes());
  totals_.peak_host_bytes = std::max(totals_.peak_host_bytes, swap_.host_bytes());
  if (options_.paging.at_once()) return;
  (void)start_copy(request, CopyPurpose::store, stored.tier, stored.bytes, now);
}

void Engine::flow_ended(FlowId flow, Picos /*now*/) {
  const auto found = std::find_if(copies_.begin(), copies_.end(),
                                  [&](const Copy& copy) { return copy.flow == flow; });
  if (found == copies_.end()) return;
  arrived_copies_.push_back(*found);
  copies_.erase(found);
  if (!computing_) changed_ = true;
}

void Engine::tell_finished_copies(Picos now) {
  told(scheduler_.set_time(seconds(now + stopped_)));
  // Telling may start further moves, never further arrivals.
  const std::vector<Copy> over = std::exchange(arrived_copies_, {});
  for (const Copy& copy : over) {
    changed_ = true;
    copied(copy, now);
  }
  // Some were under way when their slabs were revoked.
  if (!over.empty() && swap_.over()) rebalance(now);
}

void Engine::copied(const Copy& copy, Picos now) {
  const std::uint32_t request = copy.request;
  const schedule::SequenceId id{request};
  RequestTable::Progress& sequence = sequences_[request];
  switch (copy.purpose) {
    case CopyPurpose::out:
      sequence.out = 0;
      told(scheduler_.paged_out(id, copy.tier));
      return;
    case CopyPurpose::in:
      sequence.in = sequence.move = 0;
      sequence.delivered = 0;
      if (swap_.holds(request)) {
        swap_.release(request, now);
      } else if (sequence.cached_blocks > 0) {
        prefixes_->release(workload_, workload_.requests[request], sequence.cached_blocks);
      }
      told(scheduler_.paged_in(id));
      return;
    case CopyPurpose::evacuate:
    case CopyPurpose::promote:
      // It may have been paged in meanwhile; another move of it has another flow.
      if (sequence.move != copy.flow || !swap_.holds(request)) return;
      sequence.move = 0;
      swap_.moved(request, now);
      if (sequence.in == 0) told(scheduler_.moved(id, copy.tier));
      return;
    case CopyPurpose::store:
      return;
  }
}

void Engine::start_move(std::uint32_t request, Tier to, Picos now) {
  const double bytes = swap_.bytes_of(request);
  swap_.moving(request, to, now);
  (to == Tier::host ? totals_.bytes_evacuated : totals_.bytes_promoted) += bytes;
  const CopyPurpose purpose = to == Tier::host ? CopyPurpose::evacuate : CopyPurpose::promote;
  sequences_[request].move = start_copy(request, purpose, to, bytes, now);
}

void Engine::rebalance(Picos now) {
  if (options_.paging.at_once()) return;
  if (options_.layers != nullptr) options_.layers->lent_changed(now);
  swap_.settle(now);
  const auto busy = [&](std::uint64_t key) {
    return key >= sequences_.size() || sequences_[key].in != 0 || sequences_[key].out != 0;
  };
  for (const auto key : swap_.to_evacuate(busy)) {
    start_move(static_cast<std::uint32_t>(key), Tier::host, now);
  }
  for (const auto key : swap_.to_promote(busy)) {
    start_move(static_cast<std::uint32_t>(key), Tier::peer, now);
  }
  changed_ = true;
  changed();
}

}  // namespace aqua::sim
