// SPDX-License-Identifier: Apache-2.0
#include "systems/schedule/decide/auto_scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

// Invariants:
// - Who is outside is filed in queues_ under its present class, due time and date; who is inside or
//   on the way is not.
// - Who has its first token is either in paced_ or in backlog_; who is in hopeful_ is in backlog_.
// - paced_load_ is the sum over paced_ of what their paces ask for: in whole millionths, so that
// what
//   is added and taken away leaves no rounding behind. A pace changes in begin_pace() alone.
// - last_date_ never falls: nobody is overdue before one that began to wait earlier.
namespace aqua::schedule {
namespace {

// Somebody is paced up to the first part of what the engine sustains, and sent back beyond the
// second, so that no breath of load does both.
constexpr double kPromoteBelow = 0.75;
constexpr double kDemoteAbove = 0.95;
constexpr double kUnseenAnswer = 128;  // tokens, until an answer has ended
constexpr double kMillionths = 1e6;
// Iterations between two tokens of an answer of the greatest weight: what is left of the time is
// for catching up.
constexpr double kQuickest = 2;

}  // namespace

AutoScheduler::Share& AutoScheduler::share(Slot slot) {
  if (shares_.size() <= slot) shares_.resize(slot + std::size_t{1});
  return shares_[slot];
}

// Takes an iteration for half a token's time where the engine tells no time.
double AutoScheduler::now() const noexcept {
  return time().value_or(static_cast<double>(iterations_) * options_.seconds_per_token / 2);
}

void AutoScheduler::file(Slot slot) {
  const Share& its = shares_[slot];
  const auto kind = prompts(slot) ? AutoQueues::prompt
                    : its.paced   ? AutoQueues::paced
                                  : AutoQueues::backlog;
  queues_.file({kind, table_.at(slot).arrival, token_due(slot), its.overdue_from, slot});
}

// Sets the date from which a sequence that waits is served before all others: twice the time in
// which all would have had a slice each, and not before the date of any that began to wait earlier.
void AutoScheduler::set_date(Share& its) {
  std::size_t there = 0;
  for (const auto state : {SequenceState::waiting, SequenceState::resident, SequenceState::swapped,
                           SequenceState::paging_in, SequenceState::paging_out}) {
    there += table_.count(state);
  }
  const std::size_t places = std::max<std::size_t>(1, options_.device_blocks / largest_);
  const std::uint64_t rounds = 2 * ((there + places - 1) / places);
  last_date_ = std::max(last_date_, its.since + rounds * options_.slice_iterations);
  its.overdue_from = last_date_;
}

// --- what happens ------------------------------------------------------------------------------

void AutoScheduler::on_outside(Slot slot) {
  Share& its = share(slot);
  if (!its.known) {  // it has just arrived
    its = {};
    its.known = true;
    its.since = iterations_;
    set_date(its);
  }
  its.held_until = 0;
  file(slot);
}

void AutoScheduler::on_paging_in(Slot slot) {
  queues_.take(slot);
  shares_[slot].comes_from = now();
}

void AutoScheduler::on_resident(Slot slot) {
  Share& its = shares_[slot];
  queues_.take(slot);
  if (its.held_until > 0) its.held_until = iterations_ + options_.slice_iterations;
  if (its.comes_from <= 0) return;
  const double took = now() - std::exchange(its.comes_from, 0);
  return_s_ += (took - return_s_) / options_.slice_iterations;
}

void AutoScheduler::on_computed(Slot slot, std::uint32_t /*tokens*/, std::uint32_t generated,
                                std::uint32_t iterations) {
  Share& its = shares_[slot];
  queues_.take(slot);
  if (overdue(slot)) its.held_until = iterations_ + options_.slice_iterations;
  its.since = iterations_ + iterations;
  served_.push_back(slot);
  largest_ = std::max(largest_, table_.at(slot).device_blocks);
  if (generated == 0) return;
  if (!its.answers) {
    its.answers = true;
    its.paced_from = now() + iteration_s_;
    its.pace = pace_for(slot);
    its.paced = true;
    paced_.emplace(table_.at(slot).arrival, slot);
    paced_load_ += load_of(its);
    const bool room = hopeful_.empty() && sustains(0, kPromoteBelow);
    if (contended_ && !room) set_pace(slot, false);
  }
  its.tokens += generated;
}

// Dates all that were served after the last of them has grown, so that one commit of several
// iterations sets the same dates as several commits.
void AutoScheduler::on_committed(std::uint32_t iterations) {
  iterations_ += iterations;
  for (const Slot slot : served_) set_date(shares_[slot]);
  served_.clear();
}

void AutoScheduler::on_finished(Slot slot) {
  Share& its = shares_[slot];
  lengths_.ended(table_.at(slot).generated);
  if (its.paced) paced_load_ -= load_of(its);
  for (ByArrival* all : {&paced_, &backlog_, &hopeful_}) {
    all->erase({table_.at(slot).arrival, slot});
  }
  its = {};
}

// --- what was seen -----------------------------------------------------------------------------

// Measures iterations while somebody waits outside: an engine that has room for all sustains them.
void AutoScheduler::learn() {
  const double at = now();
  const double took = at - last_plan_s_;
  const auto iterations = static_cast<double>(iterations_ - last_plan_);
  if (contended_ && iterations > 0 && took > 0) {
    const double part = iteration_s_ > 0 ? 1.0 / options_.slice_iterations : 1;
    const double decodes = static_cast<double>(last_decodes_) * iterations / took;
    iteration_s_ += part * (took / iterations - iteration_s_);
    decodes_per_s_ += part * (decodes - decodes_per_s_);
  }
  if (iterations > 0 || took > 0) last_plan_s_ = at;
  last_plan_ = iterations_;
}

bool AutoScheduler::sustains(std::int64_t more, double part) const noexcept {
  if (!contended_) return true;
  const double asked = static_cast<double>(paced_load_ + more) / kMillionths;
  return asked <= part * decodes_per_s_ * options_.seconds_per_token;
}

std::int64_t AutoScheduler::load_of(const Share& its) const {
  return std::llround(kMillionths * options_.seconds_per_token / its.pace);
}

// Divides the time between two tokens by the weight, down to what iterations allow: a pace that
// cannot be kept would put those of the greatest weight behind everybody, among the hopeless.
double AutoScheduler::pace_for(Slot slot) const {
  const double weight = table_.at(slot).weight;
  const double asked = options_.seconds_per_token / weight;
  if (weight <= 1) return asked;
  return std::max(asked, std::min(options_.seconds_per_token, kQuickest * iteration_s_));
}

void AutoScheduler::begin_pace(Slot slot) {
  Share& its = shares_[slot];
  const bool filed = queues_.filed(slot);
  queues_.take(slot);
  if (its.paced) paced_load_ -= load_of(its);
  its.pace = pace_for(slot);
  its.paced_from = now();
  its.tokens = 0;
  if (its.paced) paced_load_ += load_of(its);
  if (filed) file(slot);
}

// Whether it is so far behind that running on until its expected end would not bring its mean back
// to the pace.
bool AutoScheduler::hopeless(Slot slot) const {
  const double gains = std::max(0.0, shares_[slot].pace - iteration_s_);
  const double remaining = lengths_.remaining(table_.at(slot).generated, kUnseenAnswer);
  return now() - token_due(slot) > gains * remaining;
}

// Whether it is hopeless. Where iterations have turned out to be longer than its pace counted on,
// it is not: its pace begins anew.
bool AutoScheduler::gives_up(Slot slot) {
  if (!hopeless(slot)) return false;
  if (pace_for(slot) <= shares_[slot].pace) return true;
  begin_pace(slot);
  return false;
}

void AutoScheduler::set_pace(Slot slot, bool paced) {
  Share& its = shares_[slot];
  if (its.paced == paced) return;
  const bool filed = queues_.filed(slot);
  queues_.take(slot);
  its.paced = paced;
  paced_load_ += paced ? load_of(its) : -load_of(its);
  const std::pair key{table_.at(slot).arrival, slot};
  (paced ? backlog_ : paced_).erase(key);
  (paced ? paced_ : backlog_).insert(key);
  paced ? (void)hopeful_.erase(key) : (void)hopeful_.insert(key);
  if (filed) file(slot);
}

// Paces the backlog again, as many as the engine sustains: who can catch up, the last to come
// first, which is least behind; or all of them when nobody waits outside any more.
void AutoScheduler::promote() {
  ByArrival& from = contended_ ? hopeful_ : backlog_;
  while (!from.empty()) {
    const auto last = std::prev(from.end());
    const Slot slot = last->second;
    if (!sustains(load_of(shares_[slot]), kPromoteBelow)) return;
    if (gives_up(slot)) {
      if (contended_) {
        hopeful_.erase(last);
        continue;
      }
      begin_pace(slot);
    }
    set_pace(slot, true);
  }
}

// Sends back who came last while there are more than the engine sustains, and, of those inside, who
// cannot catch up any more.
void AutoScheduler::demote() {
  if (!contended_) return;
  while (paced_.size() > 1 && !sustains(0, kDemoteAbove)) {
    set_pace(paced_.rbegin()->second, false);
  }
  for (const auto& [arrival, slot] : table_.residents()) {
    if (shares_[slot].paced && behind(slot) && gives_up(slot)) set_pace(slot, false);
  }
}

void AutoScheduler::describe(SchedulerStatus& status) const noexcept {
  status.sharing = sharing_;
  status.switched_to = switched_to_;
  status.paced = paced_.size();
  status.backlog = backlog_.size();
}

}  // namespace aqua::schedule
