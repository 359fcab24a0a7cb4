// SPDX-License-Identifier: Apache-2.0
#include "systems/schedule/decide/auto_scheduler.hpp"

#include <algorithm>
#include <utility>

// Invariants:
// - Who is outside is filed in queues_ under its present class, due time and date; who is inside or
//   on the way is not.
// - Who has its first token is either in paced_ or in backlog_; who is in hopeful_ is in backlog_.
// - paced_load_ is the sum over paced_ of what their paces ask for, in whole millionths: what is
//   added and taken away leaves no rounding behind.
// - last_date_ never falls: nobody is overdue before one that began to wait earlier.
namespace aqua::schedule {
namespace {

// A wait is overdue after so many rounds; in a round all who are there would have had a slice.
constexpr std::uint64_t kRounds = 8;
// A prompt stands behind those that come within so many times what computing it takes. At 0 short
// prompts wait for long ones; at much more than 8 long ones wait longer than under fcfs.
constexpr double kLengths = 6;

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
  const auto kind = !its.answers ? AutoQueues::prompt
                    : its.paced  ? AutoQueues::paced
                                 : AutoQueues::backlog;
  queues_.file({.kind = kind,
                .arrival = table_.at(slot).arrival,
                .place = its.place,
                .token_due = token_due(slot),
                .overdue_from = its.overdue_from,
                .slot = slot,
                .prefills = prefills(slot)});
}

// Gives those that have come since the last plan their places in the line of prompts. Not when they
// come: how long ago the last time was told then depends on how many iterations were skipped.
void AutoScheduler::place_newcomers() {
  for (const Slot slot : newcomers_) {
    Share& its = shares_[slot];
    if (!its.known || std::exchange(its.placed, true)) continue;  // it has left already
    const bool filed = queues_.filed(slot);
    queues_.take(slot);
    its.place = now() + kLengths * prompt_token_s_.value() * table_.at(slot).pending();
    if (filed) file(slot);
  }
  newcomers_.clear();
}

// Sets the date from which a sequence that waits is served before all others: kRounds times the
// time in which all would have had a slice each, and not before the date of any that began to wait
// earlier.
void AutoScheduler::set_date(Share& its) {
  const std::size_t places = std::max<std::size_t>(1, options_.device_blocks / largest_);
  const std::uint64_t rounds = kRounds * ((table_.size() + places - 1) / places);
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
    const Sequence& s = table_.at(slot);
    newcomers_.push_back(slot);
    if (s.generated > 0) begin_answer(slot, now() + s.lead);
  }
  its.held_until = 0;
  file(slot);
}

void AutoScheduler::on_leave(Slot slot) {
  queues_.take(slot);
  end_return(shares_[slot]);
}

void AutoScheduler::on_paging_in(Slot slot) {
  Share& its = shares_[slot];
  queues_.take(slot);
  its.comes_from = now();
  returning_ += its.answers ? 1 : 0;
}

void AutoScheduler::end_return(Share& its) {
  if (its.comes_from && its.answers) returning_ -= 1;
  its.comes_from.reset();
}

// Begins its hold when its page-in is over. Whose page-out failed stays as it was. Only answers
// count in how long coming back takes: what is fetched of a prompt's prefix has another size.
void AutoScheduler::on_resident(Slot slot) {
  Share& its = shares_[slot];
  queues_.take(slot);
  if (!its.comes_from) return;
  if (its.answers) return_s_.add(now() - *its.comes_from, window());
  end_return(its);
  if (its.held_until > 0) its.held_until = iterations_ + options_.slice_iterations;
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
  if (!its.answers) begin_answer(slot, now() + iteration_s_);
  its.tokens += generated;
}

// All iterations have found what the plan found, whether each had one of its own or not. Dates all
// that were served after the last of them has grown, so that one commit of several
// iterations sets the same dates as several commits.
void AutoScheduler::on_committed(std::uint32_t iterations) {
  iterations_ += iterations;
  switch_sharing(iterations_ - 1);
  for (const Slot slot : served_) set_date(shares_[slot]);
  served_.clear();
}

void AutoScheduler::on_finished(Slot slot) {
  Share& its = shares_[slot];
  idled_ = idled_ || table_.size() == 1;
  if (its.paced) paced_load_ -= load_of(its);
  for (ByArrival* all : {&paced_, &backlog_, &hopeful_}) {
    all->erase({table_.at(slot).arrival, slot});
  }
  its = {};
}

void AutoScheduler::describe(SchedulerStatus& status) const noexcept {
  status.sharing = sharing_;
  status.switched_to = switched_to_;
  status.paced = paced_.size();
  status.backlog = backlog_.size();
  status.asked_per_second = asked_per_second();
  status.sustained_per_second = sustained_per_second();
}

}  // namespace aqua::schedule
