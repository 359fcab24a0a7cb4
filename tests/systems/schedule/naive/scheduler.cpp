// SPDX-License-Identifier: Apache-2.0
#include "tests/systems/schedule/naive/scheduler.hpp"

#include <gtest/gtest.h>

namespace aqua::schedule::test {

NaiveSequence& NaiveScheduler::at(SequenceId id) {
  for (auto& [arrival, s] : all_) {
    if (s.request.id == id) return s;
  }
  ADD_FAILURE() << "no sequence " << static_cast<std::uint64_t>(id);
  std::abort();
}

std::vector<NaiveSequence*> NaiveScheduler::select(const Select& wanted) {
  std::vector<NaiveSequence*> found;
  for (auto& [arrival, s] : all_) {
    if (wanted(s)) found.push_back(&s);
  }
  return found;
}

std::int64_t NaiveScheduler::free_blocks() const {
  std::int64_t free = options_.device_blocks;
  for (const auto& [arrival, s] : all_) free -= s.device_blocks;
  return free;
}

std::int64_t NaiveScheduler::coming_blocks() const {
  std::int64_t blocks = 0;
  for (const auto& [arrival, s] : all_) {
    if (s.state == SequenceState::paging_out) blocks += s.device_blocks;
  }
  return blocks;
}

Preemption::How NaiveScheduler::how_wanted(const NaiveSequence& s) const {
  using How = Preemption::How;
  switch (options_.preempt_by) {
    case PreemptBy::swap:
      return How::swap;
    case PreemptBy::recompute:
      return How::recompute;
    case PreemptBy::cheaper:
      break;
  }
  const double there_and_back = 2.0 * s.device_blocks * options_.swap_seconds_per_block;
  return s.computed * options_.recompute_seconds_per_token < there_and_back ? How::recompute
                                                                            : How::swap;
}

Preemption::How NaiveScheduler::how_out(const NaiveSequence& s) const {
  return fits_swapped(s.device_blocks) ? how_wanted(s) : Preemption::How::recompute;
}

bool NaiveScheduler::fits_swapped(std::uint64_t more) const {
  std::uint64_t most = options_.swap_blocks;
  if (full_for_ > 0) most = std::min(most, full_at_);
  return swapped() + more <= most;
}

std::uint64_t NaiveScheduler::swapped() const {
  std::uint64_t blocks = 0;
  for (const auto& [arrival, s] : all_) blocks += s.swap_blocks;
  return blocks;
}

// --- what happens ------------------------------------------------------------------------------

Result<void> NaiveScheduler::arrive(const Request& request) {
  NaiveSequence& s = all_[++arrivals_];
  s.request = request;
  s.arrival = arrivals_;
  s.generated = request.generated_tokens;
  s.computed = std::min(request.cached_tokens, s.known() - 1);
  if (s.computed > 0) {
    s.state = SequenceState::swapped;
    s.tier = request.cached_in;
  }
  arrived(s);
  became_outside(s);
  if (s.computed > 0 && request.cached_in == Tier::local) {
    left(s);
    s.state = SequenceState::resident;
    s.device_blocks = blocks_for(s.computed);
    became_resident(s);
    planned_ = false;
    capacity_changed();
  }
  changed();
  return {};
}

Result<void> NaiveScheduler::finish(SequenceId id) {
  answered(at(id));
  return depart(id);
}

Result<void> NaiveScheduler::depart(SequenceId id) {
  NaiveSequence& s = at(id);
  left(s);
  finished(s);
  all_.erase(s.arrival);
  changed();
  return {};
}

// At once, or when the iteration that computes it is over.
Result<void> NaiveScheduler::hold(SequenceId id) {
  NaiveSequence& s = at(id);
  if (planned_ && s.planned) {
    s.to_hold = true;
  } else {
    begin_hold(s);
  }
  changed();
  return {};
}

void NaiveScheduler::begin_hold(NaiveSequence& s) {
  left(s);
  s.held = true;
  s.to_hold = false;
}

void NaiveScheduler::begin_holds() {
  for (auto& [arrival, s] : all_) {
    if (s.to_hold) begin_hold(s);
  }
}

Result<void> NaiveScheduler::release(SequenceId id) {
  NaiveSequence& s = at(id);
  const bool goes_on = s.held;
  s.held = s.to_hold = false;
  if (goes_on && !s.stuck) became_resident(s);
  changed();
  return {};
}

Result<void> NaiveScheduler::paged_out(SequenceId id, Tier to) {
  NaiveSequence& s = at(id);
  s.state = SequenceState::swapped;
  s.tier = to;
  s.device_blocks = 0;
  if (!s.stuck) became_outside(s);
  changed();
  return {};
}

Result<void> NaiveScheduler::paged_in(SequenceId id) {
  NaiveSequence& s = at(id);
  s.state = SequenceState::resident;
  s.tier = Tier::local;
  s.swap_blocks = 0;
  became_resident(s);
  changed();
  return {};
}

Result<void> NaiveScheduler::copy_failed(SequenceId id) {
  NaiveSequence& s = at(id);
  if (s.state == SequenceState::paging_out) {
    s.state = SequenceState::resident;
    s.swap_blocks = 0;
    full_at_ = swapped();
    full_for_ = options_.slice_iterations;
    became_resident(s);
  } else {
    left(s);
    s.state = SequenceState::swapped;
    s.device_blocks = 0;
    outside_again(s);
  }
  changed();
  return {};
}

Result<void> NaiveScheduler::moved(SequenceId id, Tier to) {
  at(id).tier = to;
  changed();
  return {};
}

void NaiveScheduler::forget(NaiveSequence& s) {
  s.state = SequenceState::waiting;
  s.held = s.to_hold = false;
  s.tier = Tier::local;
  s.computed = s.device_blocks = s.swap_blocks = 0;
  if (!s.stuck) became_outside(s);
}

Result<void> NaiveScheduler::lost(SequenceId id) {
  NaiveSequence& s = at(id);
  left(s);
  s.planned = false;
  forget(s);
  changed();
  return {};
}

void NaiveScheduler::set_device_blocks(std::uint32_t blocks) {
  const bool grown = blocks > options_.device_blocks;
  options_.device_blocks = blocks;
  planned_ = false;
  changed();
  capacity_changed();
  if (!grown) return;
  for (auto& [arrival, s] : all_) {
    if (!s.stuck || too_large(s)) continue;
    s.stuck = false;
    if (s.resident()) became_resident(s);
    if (s.outside()) became_outside(s);
  }
}

void NaiveScheduler::set_swap_blocks(std::uint32_t blocks) {
  options_.swap_blocks = blocks;
  full_for_ = 0;
  changed();
}

void NaiveScheduler::set_swap_tier(Tier tier) {
  if (tier != options_.swap_tier) full_for_ = 0;
  options_.swap_tier = tier;
  changed();
}

// --- decisions ---------------------------------------------------------------------------------

const Batch& NaiveScheduler::next() {
  batch_.preemptions.clear();
  batch_.page_ins.clear();
  if (planned_ && !stale_) return batch_;
  begin_holds();
  replan();
  return batch_;
}

void NaiveScheduler::replan() {
  batch_ = {};
  for (auto& [arrival, s] : all_) s.planned = s.ordered = false;
  for (auto& [arrival, s] : all_) {  // the device was shrunk: those who were set aside go first
    if (free_blocks() + coming_blocks() >= 0) break;
    if (s.stuck && !s.held && s.state == SequenceState::resident) order_out(s, how_out(s));
  }
  plan();
  for (const NaiveSequence* s : select([](const auto& x) { return x.stuck; })) {
    batch_.too_large.push_back(s->request.id);
  }
  planned_ = true;
  const bool travels = std::any_of(all_.begin(), all_.end(), [](const auto& entry) {
    const SequenceState state = entry.second.state;
    return state == SequenceState::paging_in || state == SequenceState::paging_out;
  });
  stale_ = batch_.moves() && !batch_.computes() && !travels;
}

// Several at once are several, each planned again: what `repeat` promises.
Result<void> NaiveScheduler::commit(std::uint32_t iterations) {
  const Batch proposed = batch_;
  commit_once();
  for (std::uint32_t i = 1; i < iterations; ++i) {
    replan();
    EXPECT_EQ(batch_.decodes, proposed.decodes) << "repeat promised iteration " << i;
    EXPECT_TRUE(batch_.prefills.empty() && !batch_.moves()) << "repeat promised iteration " << i;
    commit_once();
  }
  begin_holds();
  return {};
}

void NaiveScheduler::commit_once() {
  planned_ = false;
  if (full_for_ > 0) --full_for_;
  const auto serve = [&](SequenceId id, std::uint32_t tokens, std::uint32_t generated) {
    for (auto& [arrival, s] : all_) {
      if (s.request.id != id || !s.planned) continue;
      const bool enters = s.outside();
      s.state = SequenceState::resident;
      s.computed += tokens;
      s.generated += generated;
      s.device_blocks = blocks_for(s.computed);
      served(s, tokens, generated);
      if (enters) entered(s);
    }
  };
  for (const PrefillChunk& chunk : batch_.prefills) serve(chunk.id, chunk.tokens, chunk.last);
  for (const SequenceId id : batch_.decodes) serve(id, 1, 1);
  committed();
}

void NaiveScheduler::order_out(NaiveSequence& s, Preemption::How how) {
  const Tier to = how == Preemption::How::swap ? tier_out() : Tier::local;
  batch_.preemptions.push_back({s.request.id, how, s.device_blocks, to});
  s.ordered = true;
  left(s);
  if (how == Preemption::How::recompute) return forget(s);
  s.state = SequenceState::paging_out;
  s.swap_blocks = s.device_blocks;
}

void NaiveScheduler::order_in(NaiveSequence& s) {
  entered(s);
  s.state = SequenceState::paging_in;
  s.device_blocks = blocks_for(s.computed);
  batch_.page_ins.push_back({s.request.id, s.tier, s.device_blocks});
}

void NaiveScheduler::set_aside(NaiveSequence& s) {
  left(s);
  s.stuck = true;
}

void NaiveScheduler::add_decode(NaiveSequence& s) {
  s.planned = true;
  batch_.decodes.push_back(s.request.id);
}

void NaiveScheduler::add_prefill(NaiveSequence& s, std::uint32_t tokens) {
  s.planned = true;
  batch_.prefills.push_back({s.request.id, s.computed, tokens, tokens == s.pending()});
}

// --- questions ---------------------------------------------------------------------------------

Result<SequenceStatus> NaiveScheduler::sequence(SequenceId) const {
  return Error{Code::unimplemented, "the naive schedulers answer with batches alone"};
}

SchedulerStatus NaiveScheduler::status() const noexcept {
  SchedulerStatus status;
  for (const auto& [arrival, s] : all_) {
    (s.state == SequenceState::waiting      ? status.waiting
     : s.state == SequenceState::resident   ? status.resident
     : s.state == SequenceState::paging_out ? status.paging_out
     : s.state == SequenceState::swapped    ? status.swapped
                                            : status.paging_in) += 1;
    status.held += s.held;
    status.device_blocks_held += s.device_blocks;
    status.swap_blocks_held += s.swap_blocks;
  }
  status.device_blocks = options_.device_blocks;
  status.swap_blocks = options_.swap_blocks;
  status.falling_back = falls_back();
  return status;
}

}  // namespace aqua::schedule::test
